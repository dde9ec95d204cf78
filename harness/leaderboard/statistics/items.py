"""Evaluation error: how far a score would move on other problems, with the policy held still.

It is shown apart from the spread over seeds, which answers another question: how far it would move if trained again.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard.statistics.intervals import Array, Interval

__all__ = ["clustered_error", "evaluation_error", "item_differences", "two_way_interval"]


def clustered_error(values: ArrayLike, clusters: ArrayLike | None = None) -> float:
    """Standard error of the mean of `values` [I], one an item; items of one cluster may depend on each other.

    sqrt(G / (G - 1) sum_g (sum_i in g (x_i - mean))^2) / I over G clusters (Miller, arXiv:2411.00640, with the factor
    for few clusters). Without clusters every item is its own: sd / sqrt(I). NaN below two clusters.
    """
    array = np.asarray(values, dtype=float)
    off = array - array.mean() if array.size else array
    if clusters is not None:
        _, member = np.unique(np.asarray(clusters), return_inverse=True)
        off = np.bincount(member, weights=off)
    if off.size < 2:
        return math.nan
    return math.sqrt(off.size / (off.size - 1) * float((off**2).sum())) / array.size


def evaluation_error(values: ArrayLike, clusters: ArrayLike | None = None) -> float:
    """The evaluation error of a method's score on a task: `values` [S, I], the share right of each seed on each item.

    All seeds answer the same items, so an item's answers are one cluster: the error is that of the items' means over
    seeds, and does not shrink with more seeds beyond what sampling noise averages out.
    """
    return clustered_error(np.asarray(values, dtype=float).mean(axis=0), clusters)


def item_differences(values: ArrayLike, baseline: ArrayLike) -> Array:
    """Differences item by item within a seed, [S, I] - [S, I], of the seeds that both have in full."""
    difference = np.asarray(values, dtype=float) - np.asarray(baseline, dtype=float)
    if difference.ndim != 2:
        raise UsageError(f"differences by item need seeds x items on both sides, not the shape {difference.shape}")
    return np.asarray(difference[~np.isnan(difference).any(axis=1)])


def two_way_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of the mean of [S, I] for other seeds and other items: both are samples.

    The variance of the mean in the two-way random layout, (MS_seeds + MS_items - MS_rest) / (S I), unbiased for
    s_seed^2 / S + s_item^2 / I + s_rest^2 / (S I), never below either mean square's own; degrees of freedom by
    Satterthwaite (1946). Wider than the interval over seeds, which keeps the items as they are. NaN ends below two.
    """
    array = np.asarray(values, dtype=float)
    seeds, items = array.shape
    mean = float(array.mean()) if array.size else math.nan
    if min(seeds, items) < 2:
        return Interval(mean, math.nan, math.nan, seeds)
    by_seed, by_item = array.mean(axis=1, keepdims=True), array.mean(axis=0, keepdims=True)
    free = np.array([seeds - 1, items - 1, (seeds - 1) * (items - 1)], dtype=float)
    rest = array - by_seed - by_item + mean
    squares = [items * ((by_seed - mean) ** 2).sum(), seeds * ((by_item - mean) ** 2).sum(), (rest**2).sum()]
    ms_seed, ms_item, ms_rest = np.array(squares) / free
    parts = np.array([ms_seed, ms_item, -ms_rest])
    if ms_rest > min(ms_seed, ms_item):  # one of the two adds nothing beyond the rest
        parts = np.where(parts == max(ms_seed, ms_item), parts, 0.0)
    total = float(parts.sum())
    if total <= 0:
        return Interval(mean, mean, mean, seeds)
    half = float(stats.t.ppf(0.5 + level / 2, total**2 / float((parts**2 / free).sum())))
    half *= math.sqrt(total / (seeds * items))
    return Interval(mean, mean - half, mean + half, seeds)
