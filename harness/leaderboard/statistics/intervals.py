"""Intervals over seeds: each seed is one number, and the interval says where the mean of other seeds would lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["Array", "Interval", "interquartile_mean", "moments", "per_seed", "t_interval", "t_limits"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its two ends; NaN ends where fewer than two seeds exist."""

    mean: float
    low: float
    high: float
    n: int


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Array:
    """The mean of the middle half along `axis` (25 % trimmed at each end, whole items), NaN if any value is NaN.

    Of three values or fewer nothing is trimmed. Agarwal et al. (arXiv:2108.13264) recommend it for runs of many tasks.
    """
    return np.asarray(stats.trim_mean(np.asarray(values, dtype=float), 0.25, axis=axis), dtype=float)


def per_seed(values: ArrayLike, reduce: str = "mean") -> Array:
    """One number a seed: `values` [..., S, tasks] -> [..., S] by 'mean' or 'iqm' over tasks; NaN stays NaN.

    NaN without a task: nothing has been evaluated yet.
    """
    array = np.asarray(values, dtype=float)
    if not array.shape[-1]:
        return np.full(array.shape[:-1], math.nan)
    if reduce == "iqm":
        return interquartile_mean(array)
    return np.asarray(array.mean(axis=-1))


def moments(values: ArrayLike) -> tuple[Array, Array, Array]:
    """Count, mean and standard deviation (ddof 1) over the last axis, missing seeds (NaN) left out.

    [..., S] -> three of [...]; the mean of none and the deviation of fewer than two are NaN.
    """
    array = np.asarray(values, dtype=float)
    there = ~np.isnan(array)
    n = there.sum(axis=-1).astype(float)
    mean = np.where(there, array, 0.0).sum(axis=-1) / np.where(n > 0, n, math.nan)
    squares = np.where(there, (array - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    return n, mean, np.sqrt(squares / np.where(n > 1, n - 1, math.nan))


def t_limits(values: ArrayLike, level: float = 0.95) -> tuple[Array, Array, Array]:
    """Mean, low and high of Student's interval over the last axis, for many methods at once: [..., S] -> [...].

    mean -+ t(n - 1) sd / sqrt(n) (Student 1908). NaN ends below two seeds. It asks for seeds that are independent and
    not far from Gaussian: `docs/statistics.md` has its coverage where they are not.
    """
    n, mean, deviation = moments(values)
    quantile = stats.t.ppf(0.5 + level / 2, np.where(n > 1, n - 1, math.nan))
    half = quantile * deviation / np.sqrt(np.where(n > 0, n, math.nan))
    return mean, mean - half, mean + half


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student's interval for the mean over seeds [S]; missing seeds (NaN) are left out and counted out."""
    array = np.asarray(values, dtype=float)
    mean, low, high = t_limits(array, level)
    return Interval(float(mean), float(low), float(high), int((~np.isnan(array)).sum()))
