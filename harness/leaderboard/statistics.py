"""The statistics of a board: pure functions of arrays, no files, no plots, no global random state.

The experimental unit is a seed: each is reduced to one number before anything is inferred, so items and tasks never
pose as replications. Methods share seeds (common random numbers), so differences are taken within a seed.
NaN marks a trial that is missing; every function says what it does with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "Interval", "area_under_curve", "holm", "interquartile_mean", "least_seeds", "paired_p", "paired_values",
    "per_seed", "probability_of_improvement", "sign_flip_p", "t_interval",
]  # fmt: skip

Array = NDArray[np.float64]

SIGN_FLIP_EXACT = 20  # up to 2^20 sign patterns are enumerated; beyond, a seeded sample of them
SIGN_FLIP_DRAWS = 200_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its two ends; NaN ends where fewer than two seeds exist."""

    mean: float
    low: float
    high: float
    n: int


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Array:
    """The mean of the middle half along `axis` (25 % trimmed at each end, whole items), NaN if any value is NaN."""
    return np.asarray(stats.trim_mean(np.asarray(values, dtype=float), 0.25, axis=axis), dtype=float)


def per_seed(values: ArrayLike, reduce: str = "mean") -> Array:
    """One number a seed: `values` [..., S, tasks] -> [..., S] by 'mean' or 'iqm' over tasks; NaN stays NaN."""
    array = np.asarray(values, dtype=float)
    if reduce == "iqm":
        return interquartile_mean(array)
    return np.asarray(array.mean(axis=-1))


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student's interval for the mean over seeds; missing seeds (NaN) are left out and counted out."""
    array = np.asarray(values, dtype=float)
    array = array[~np.isnan(array)]
    n = int(array.size)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(array.mean())
    if n == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = float(stats.t.ppf(0.5 + level / 2, n - 1)) * float(array.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def paired_values(values: ArrayLike, baseline: ArrayLike) -> Array:
    """Differences seed by seed, [S] - [S] -> [n], of the seeds that both have."""
    difference = np.asarray(values, dtype=float) - np.asarray(baseline, dtype=float)
    return np.asarray(difference[~np.isnan(difference)])


def paired_p(differences: ArrayLike) -> float:
    """Two-sided p of the paired t test; 1 when all differences are 0, NaN below two seeds.

    Equal non-zero differences have no spread to judge by: their p is that of a spread of rounding error, so 0.
    """
    array = np.asarray(differences, dtype=float)
    if array.size < 2:
        return math.nan
    if not array.any():
        return 1.0
    deviation = float(array.std(ddof=1))
    if deviation <= 1e-15 * float(np.abs(array).max()):
        return 0.0
    statistic = float(array.mean()) / (deviation / math.sqrt(array.size))
    return float(2 * stats.t.sf(abs(statistic), array.size - 1))


def holm(p_values: ArrayLike, family: int | None = None) -> Array:
    """Holm's step-down adjusted p-values, in the order given.

    `family` is the number of comparisons planned; those not yet testable (NaN) count as p = 1, so a board that gains
    trials later never had a milder correction before.
    """
    array = np.asarray(p_values, dtype=float)
    size = max(int(array.size), family or 0)
    adjusted = np.full(array.shape, math.nan)
    order = [i for i in np.argsort(array, kind="stable") if not math.isnan(array[i])]
    running = 0.0
    for place, index in enumerate(order):
        running = max(running, min(1.0, (size - place) * float(array[index])))
        adjusted[index] = running
    return adjusted


def sign_flip_p(differences: ArrayLike, seed: int = 0) -> float:
    """Exact two-sided p of the mean under all sign patterns of the differences (sampled beyond 20 seeds).

    Its smallest possible value is 2 / 2^n: see `least_seeds`.
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


def area_under_curve(progress: ArrayLike, scores: ArrayLike, final: float | None = None) -> float:
    """Mean score over the budget: the trapezoid area under score against progress in [0, 1].

    Before the first evaluation and after the last the curve is flat; `final` replaces the level after the last one
    (a failed trial goes on with the score it is given). NaN without an evaluation.
    """
    x, y = np.asarray(progress, dtype=float), np.asarray(scores, dtype=float)
    if x.size == 0:
        return math.nan
    order = np.argsort(x, kind="stable")
    x, y = np.clip(x[order], 0.0, 1.0), y[order]
    tail = y[-1] if final is None else final
    return float(np.trapezoid(y, x) + y[0] * x[0] + tail * (1.0 - x[-1]))
