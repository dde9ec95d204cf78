"""Several samples a problem: the mean over them, and the chance that one of k is right."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import UsageError
from harness.leaderboard.statistics.intervals import Array

__all__ = ["avg_at_k", "pass_at_k"]


def avg_at_k(correct: ArrayLike, samples: ArrayLike) -> Array:
    """avg@k of each item: the share right of its k = `samples` samples.

    Its mean over items has the expectation of pass@1 and less variance. UsageError for an item without samples.
    """
    right, k = checked(correct, samples, 1)
    return np.asarray(right / k)


def pass_at_k(correct: ArrayLike, samples: ArrayLike, k: int) -> Array:
    """pass@k of each item, unbiased: 1 - C(n - c, k) / C(n, k) for c right of n samples (Chen et al., 2107.03374).

    The mean over items is the estimate. UsageError where an item has fewer than k samples: nothing unbiased exists.
    """
    right, n = checked(correct, samples, k)
    wrong = (n - right)[..., None]
    draws = np.arange(k)  # k draws without putting back, all wrong
    return np.asarray(1.0 - (np.maximum(wrong - draws, 0.0) / (n[..., None] - draws)).prod(axis=-1))


def checked(correct: ArrayLike, samples: ArrayLike, k: int) -> tuple[Array, Array]:
    """Both as arrays of one shape, after looking at them."""
    right, n = np.broadcast_arrays(np.asarray(correct, dtype=float), np.asarray(samples, dtype=float))
    if k < 1 or (n < k).any():
        least = int(n.min()) if n.size else 0
        raise UsageError(f"pass@{k} needs at least {max(k, 1)} samples an item, one has {least}: raise samples")
    if ((right < 0) | (right > n)).any():
        raise UsageError("an item has more right samples than samples, or fewer than none: check the counts")
    return right, n
