"""Seeds that fell far below their siblings: where runs collapse, intervals over few seeds say less than they claim."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["collapsed", "pooled_spread"]

FAR = 4.0  # spreads below the median of the method's seeds: 5 in 1,000 boards of Gaussian seeds have one
GAUSSIAN = 1.0483580602  # 1 / (sqrt 2 * the upper quartile of the normal): the median pair differs by 1 / this


def pooled_spread(scores: ArrayLike) -> float:
    """A board's common spread over seeds, [M, S]: the median difference of two seeds of a method, for sd units.

    The Shamos estimator, pooled over methods: collapses are few of all pairs and hardly move it. NaN without a pair.
    """
    array = np.asarray(scores, dtype=float)
    first, second = np.triu_indices(array.shape[-1], 1)
    pairs = np.abs(array[:, first] - array[:, second])
    pairs = pairs[~np.isnan(pairs)]
    return GAUSSIAN * float(np.median(pairs)) if pairs.size else float("nan")


def collapsed(scores: ArrayLike, far: float = FAR) -> NDArray[np.bool_]:
    """Which trials of a board [M, S] lie more than `far` common spreads below the median of their method's seeds.

    None where more than half of all pairs agree exactly (no spread to judge by) or a method has fewer than three seeds.
    """
    array = np.asarray(scores, dtype=float)
    spread = pooled_spread(array)
    there = ~np.isnan(array)
    enough = there.sum(axis=1) >= 3
    if not spread > 0 or not enough.any():
        return np.zeros(array.shape, dtype=bool)
    found = np.zeros(array.shape, dtype=bool)
    rows = array[enough]
    found[enough] = np.nanmedian(rows, axis=1, keepdims=True) - rows > far * spread
    return found & there
