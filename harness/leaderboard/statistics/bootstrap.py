"""Bootstrap intervals over seeds. No board prints them: with so few seeds they cover too little.

At 5 seeds the percentile interval covers .84 of what it calls .95 (`docs/statistics.md`). They are here for statistics
that no t-interval fits, and for the comparison. Seeds are drawn whole, all tasks and methods of one together.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard.statistics.intervals import Array, Interval

__all__ = ["bootstrap_interval", "mean_over_seeds"]

Statistic = Callable[[Array], Array]  # [..., S, rest] -> [...]


def mean_over_seeds(values: Array) -> Array:
    """The mean over seeds and whatever comes after them: [draws, S, ...] -> [draws]."""
    return np.asarray(values.mean(axis=tuple(range(1, values.ndim))))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Statistic = mean_over_seeds,
    *,
    kind: str = "percentile",
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of a statistic of `values` [S, ...], seeds resampled jointly (Efron and Tibshirani 1993).

    `statistic` takes [draws, S, ...] to [draws]. `kind` is 'percentile' or 'bca', the one corrected for bias and
    skewness (Efron 1987). The draws come from a generator of their own. NaN ends below two seeds.
    """
    if kind not in {"percentile", "bca"}:
        raise UsageError(f"bootstrap kind {kind!r}: write percentile or bca")
    array = np.asarray(values, dtype=float)
    n = len(array)
    found = float(statistic(array[None])[0]) if n else math.nan
    if n < 2:
        return Interval(found, math.nan, math.nan, n)
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = np.asarray(statistic(array[generator.integers(0, n, (draws, n))]))
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    if kind == "bca":
        tails = corrected(tails, drawn, found, leave_one_out(array, statistic))
    low, high = np.quantile(drawn, tails)
    return Interval(found, float(low), float(high), n)


def leave_one_out(array: Array, statistic: Statistic) -> Array:
    """The statistic without each seed in turn, [S]."""
    n = len(array)
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    return np.asarray(statistic(array[others]))


def corrected(tails: Array, drawn: Array, found: float, jackknife: Array) -> Array:
    """The tails of BCa: moved by the draws' bias z0 and the jackknife's acceleration a."""
    below = float((drawn < found).mean() + (drawn <= found).mean()) / 2  # draws that equal it count half
    off = jackknife.mean() - jackknife
    spread = float((off**2).sum())
    if not 0 < below < 1 or spread == 0:
        return tails
    z0, a = float(stats.norm.ppf(below)), float((off**3).sum()) / (6 * spread**1.5)
    z = z0 + stats.norm.ppf(tails)
    return np.asarray(stats.norm.cdf(z0 + z / (1 - a * z)))
