"""Which ranks a method may hold, and which methods cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.leaderboard.statistics.intervals import Array
from harness.leaderboard.statistics.paired import holm, paired_p_values

__all__ = ["letters", "pairwise_p", "rank_range"]


def pairwise_p(scores: ArrayLike, least: int = 5) -> Array:
    """Holm-adjusted p of the paired t test of every two methods, [..., M, S] -> [..., M, M]; 1 on the diagonal.

    The family is all M (M - 1) / 2 pairs. Pairs with fewer than `least` seeds in common are NaN: no claim.
    """
    array = np.asarray(scores, dtype=float)
    first, second = np.triu_indices(array.shape[-2], 1)
    differences = array[..., first, :] - array[..., second, :]
    few = (~np.isnan(differences)).sum(axis=-1) < least
    adjusted = holm(np.where(few, math.nan, paired_p_values(differences)))
    table = np.ones((*array.shape[:-1], array.shape[-2]))
    table[..., first, second] = table[..., second, first] = adjusted
    return table


def rank_range(scores: ArrayLike, level: float = 0.05, least: int = 5) -> NDArray[np.int64]:
    """The ranks that each method may truly hold, [..., M, S] -> [..., M, 2], 1 the best (the highest score).

    Lowest: one more than the methods that are significantly better; highest: M less those significantly worse, by
    `pairwise_p`. With probability 1 - level or more all ranges hold together, whatever the ties (Al Mohamad, Goeman and
    van Zwet, arXiv:1812.05507; Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    array = np.asarray(scores, dtype=float)
    differences = array[..., None, :] - array[..., None, :, :]
    there = ~np.isnan(differences)
    lead = np.where(there, differences, 0.0).sum(axis=-1)  # its sign is that of the paired mean
    claimed = pairwise_p(array, least) < level
    better, worse = (claimed & (lead > 0)).sum(axis=-1), (claimed & (lead < 0)).sum(axis=-1)
    return np.stack([1 + worse, array.shape[-2] - better], axis=-1)


def letters(different: NDArray[np.bool_], order: Sequence[int] | None = None) -> list[str]:
    """Compact letter display: two methods share a letter exactly where they are not `different` [M, M].

    A letter is a group of which no two are different. Groups grow around pairs that share none yet (clique growing,
    Gramm et al. 2007): all groups that there are would be right too, but among 80 methods they may be millions.
    `order` ranks the methods, so that the first letter holds the best of them; by default the order given.
    """
    count = len(different)
    ranked = list(order if order is not None else range(count))
    place = {method: i for i, method in enumerate(ranked)}
    alike = ~np.asarray(different, dtype=bool) | np.eye(count, dtype=bool)
    groups = sorted(needed(grown(alike, ranked), count), key=lambda group: sorted(place[method] for method in group))
    names = [*ascii_lowercase, *ascii_uppercase, *(a + str(i) for i in range(2, 99) for a in ascii_lowercase)]
    return ["".join(names[g] for g, group in enumerate(groups) if method in group) for method in range(count)]


def grown(alike: NDArray[np.bool_], ranked: Sequence[int]) -> list[list[int]]:
    """Groups that hold every pair of `alike` [M, M], and every method alone: each takes in who fits, by rank."""
    missing = alike.copy()
    groups = []
    for one in ranked:
        for two in ranked:
            if missing[one, two]:
                fits = alike[one] & alike[two]
                group = [one] if one == two else [one, two]
                for other in ranked:
                    if fits[other] and other not in group:
                        group.append(other)
                        fits &= alike[other]
                missing[np.ix_(group, group)] = False
                groups.append(group)
    return groups


def needed(groups: Sequence[list[int]], count: int) -> list[list[int]]:
    """The groups without those whose pairs all stand in others."""
    times = np.zeros((count, count), dtype=int)
    for group in groups:
        times[np.ix_(group, group)] += 1
    kept = []
    for group in groups[::-1]:  # the later ones were grown around what the first had left
        inside = np.ix_(group, group)
        if (times[inside] > 1).all():
            times[inside] -= 1
        else:
            kept.append(group)
    return kept
