"""Comparing two methods on the seeds they share, and many methods with one baseline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.leaderboard.statistics.intervals import Array, moments

__all__ = [
    "holm", "least_seeds", "paired_p", "paired_p_values", "paired_values", "probability_of_improvement", "sign_flip_p",
]  # fmt: skip

SIGN_FLIP_EXACT = 20  # up to 2^20 sign patterns are enumerated; beyond, a seeded sample of them
SIGN_FLIP_DRAWS = 200_000


def paired_values(values: ArrayLike, baseline: ArrayLike) -> Array:
    """Differences seed by seed, [S] - [S] -> [n], of the seeds that both have."""
    difference = np.asarray(values, dtype=float) - np.asarray(baseline, dtype=float)
    return np.asarray(difference[~np.isnan(difference)])


def paired_p(differences: ArrayLike) -> float:
    """Two-sided p of the paired t test; 1 when all differences are 0, NaN below two seeds.

    Equal non-zero differences have no spread to judge by: their p is that of a spread of rounding error, so 0.
    """
    return float(paired_p_values(np.asarray(differences, dtype=float)))


def paired_p_values(differences: ArrayLike) -> Array:
    """`paired_p` over the last axis, for many comparisons at once: [..., S] -> [...]; NaN seeds are left out."""
    array = np.asarray(differences, dtype=float)
    n, mean, deviation = moments(array)
    largest = np.where(np.isnan(array), 0.0, np.abs(array)).max(axis=-1, initial=0.0)
    still = deviation <= 1e-15 * largest  # true of all zeros too; never of NaN
    statistic = np.abs(mean) / (np.where(still, 1.0, deviation) / np.sqrt(np.where(n > 1, n, math.nan)))
    p = 2 * stats.t.sf(statistic, np.where(n > 1, n - 1, math.nan))
    return np.asarray(np.where(still, np.where(largest > 0, 0.0, 1.0), p), dtype=float)


def holm(p_values: ArrayLike, family: int | None = None) -> Array:
    """Holm's step-down adjusted p-values over the last axis [..., M], in the order given (Holm 1979).

    The chance that a family of true null hypotheses has one of them below the level is at most the level, however they
    depend on each other. `family` is the number of comparisons planned; those not yet testable (NaN) count as p = 1,
    so a board that gains trials later never had a milder correction before.
    """
    array = np.asarray(p_values, dtype=float)
    count = array.shape[-1]
    order = np.argsort(array, axis=-1, kind="stable")  # NaN comes last
    factors = max(count, family or 0) - np.arange(count)
    raised = np.minimum(factors * np.take_along_axis(array, order, axis=-1), 1.0)
    adjusted = np.empty_like(array)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(raised, axis=-1), axis=-1)
    return adjusted


def sign_flip_p(differences: ArrayLike, seed: int = 0) -> float:
    """Exact two-sided p of the mean under all sign patterns of the differences (sampled beyond 20 seeds).

    Fisher's randomisation test (1935): it asks only that a difference be as likely with either sign. Its smallest
    possible value is 2 / 2^n: see `least_seeds`.
    """
    array = np.asarray(differences, dtype=float)
    n = int(array.size)
    if n == 0:
        return math.nan
    observed = abs(float(array.sum()))
    tolerance = 1e-12 * float(np.abs(array).sum())  # patterns that tie up to rounding count as ties
    if n > SIGN_FLIP_EXACT:
        signs = np.random.Generator(np.random.PCG64(seed)).choice([-1.0, 1.0], size=(SIGN_FLIP_DRAWS, n))
        hits = int((np.abs(signs @ array) >= observed - tolerance).sum())
        return (hits + 1) / (SIGN_FLIP_DRAWS + 1)
    sums = np.zeros(1)
    for value in array:  # doubles the list of sums each time: 2^n in all
        sums = np.concatenate([sums + value, sums - value])
    return float((np.abs(sums) >= observed - tolerance).mean())


def least_seeds(level: float, family: int = 1) -> int:
    """The fewest seeds with which the sign-flip test can reach `level` after Holm over `family` comparisons."""
    return math.ceil(math.log2(2 * max(family, 1) / level) - 1e-12)


def probability_of_improvement(values: ArrayLike, baseline: ArrayLike) -> float:
    """P(a run of the method beats a run of the baseline), ties one half, mean over tasks.

    Both [S, tasks] or [S]; runs are compared across seeds as in Agarwal et al. (2108.13264), missing runs left out.
    """
    first, second = (np.asarray(x, dtype=float) for x in (values, baseline))
    first, second = (x[:, None] if x.ndim == 1 else x for x in (first, second))
    first, second = (x[~np.isnan(x).any(axis=1)] for x in (first, second))
    if not first.size or not second.size:
        return math.nan
    sign = np.sign(first[:, None, :] - second[None, :, :])
    return float(((sign + 1) / 2).mean())
