"""Performance profiles: how often a method scores above a threshold, or reaches a target nearly as soon as the best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import UsageError
from harness.leaderboard.statistics.intervals import Array

__all__ = ["budget_profile", "budget_ratios", "profile_area", "score_profile"]


def score_profile(scores: ArrayLike, thresholds: ArrayLike) -> Array:
    """The share of runs x tasks that score above each threshold, [S, K] or [S], [T] -> [T] (Agarwal, 2108.13264).

    Missing runs (NaN) are left out; NaN without a run.
    """
    array = np.asarray(scores, dtype=float).ravel()
    array, levels = array[~np.isnan(array)], np.asarray(thresholds, dtype=float)
    if not array.size:
        return np.full(levels.shape, math.nan)
    return np.asarray((array > levels[..., None]).mean(axis=-1))


def budget_ratios(budgets: ArrayLike, reference: int | None = None) -> Array:
    """Budgets to a target over the least, or over those of the `reference` row: [M, K] -> [M, K].

    A miss is infinite, also where nobody reached it. Relative to a reference no row moves when another joins the board.
    """
    array = np.asarray(budgets, dtype=float)
    if (array <= 0).any():
        raise UsageError("a budget to a target must be above 0: leave out targets that the untrained policy meets")
    against = array.min(axis=0) if reference is None else array[reference]
    hit = np.isfinite(array)
    return np.where(hit, np.where(hit, array, 1.0) / np.where(np.isfinite(against), against, 1.0), math.inf)


def budget_profile(budgets: ArrayLike, ratios: ArrayLike, reference: int | None = None) -> Array:
    """The share of targets that a method reaches within each ratio of the best: [M, K], [T] -> [M, T].

    Dolan and More (2002), as AlgoPerf scores (Dahl et al., arXiv:2306.07179).
    """
    found = budget_ratios(budgets, reference)
    return np.asarray((found[:, :, None] <= np.asarray(ratios, dtype=float)).mean(axis=1))


def profile_area(budgets: ArrayLike, limit: float = 4.0, reference: int | None = None) -> Array:
    """The area under the budget profile from ratio 1 to `limit`, in [0, 1]: [M, K] -> [M].

    Exact: a target reached at ratio r adds (limit - r) / (limit - 1), at most 1, a miss nothing.
    """
    found = np.clip(budget_ratios(budgets, reference), 1.0, limit)
    return np.asarray(((limit - found) / (limit - 1)).mean(axis=1))
