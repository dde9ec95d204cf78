"""Scores over the budget: the area under the curve, and what it took to reach a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.leaderboard.statistics.intervals import Array, Interval, t_interval

__all__ = ["Survival", "area_under_curve", "budget_to_target", "kaplan_meier", "restricted_mean"]


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


def budget_to_target(spent: ArrayLike, scores: ArrayLike, target: float) -> float:
    """What had been spent when the score first reached `target`; infinite for a miss.

    The curve is a straight line between evaluations, so the answer does not jump with their schedule. A run that
    reaches the target and falls back has reached it.
    """
    x, y = np.asarray(spent, dtype=float), np.asarray(scores, dtype=float)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    hits = np.flatnonzero(y >= target)
    if not hits.size:
        return math.inf
    i = int(hits[0])
    if i == 0:
        return float(x[0])
    return float(x[i - 1] + (x[i] - x[i - 1]) * (target - y[i - 1]) / (y[i] - y[i - 1]))


@dataclass(frozen=True)
class Survival:
    """A Kaplan-Meier curve: after each of `times` the share of runs that has not reached the target yet."""

    times: Array  # [T], rising, of the events
    share: Array  # [T]
    at_risk: NDArray[np.int64]  # [T], runs still trying just before

    def at(self, time: ArrayLike) -> Array:
        """The share not there yet at `time`: 1 before the first event, a step at each."""
        steps = np.concatenate([[1.0], self.share])
        return np.asarray(steps[np.searchsorted(self.times, np.asarray(time, dtype=float), side="right")])

    def area(self, limit: float) -> float:
        """The area under the curve up to `limit`."""
        inside = self.times[self.times < limit]
        edges = np.concatenate([[0.0], inside, [limit]])
        return float((np.diff(edges) * np.concatenate([[1.0], self.share[: inside.size]])).sum())


def kaplan_meier(times: ArrayLike, reached: ArrayLike) -> Survival:
    """The curve of `times` [S], where `reached` [S] is false for a run that was only watched that long.

    A product over the events of (1 - events / at risk), a run censored at an event's time being still at risk (Kaplan
    and Meier 1958). Give a trial that failed as a miss at the whole budget, not as censored when it failed: that would
    take for granted that it would have gone on like the others.
    """
    when, there = np.asarray(times, dtype=float), np.asarray(reached, dtype=bool)
    events = np.unique(when[there])
    at_risk = (when[None, :] >= events[:, None]).sum(axis=1)
    happened = ((when[None, :] == events[:, None]) & there[None, :]).sum(axis=1)
    return Survival(events, np.cumprod(1.0 - happened / np.maximum(at_risk, 1)), at_risk)


def restricted_mean(budgets: ArrayLike, limit: ArrayLike, level: float = 0.95, most_missed: float = 0.5) -> Interval:
    """Mean budget to a target within `limit`, a miss counting as the limit: the area under the Kaplan-Meier curve.

    `budgets` [S], infinite for a miss, NaN for a missing trial; `limit` one budget for all or [S], each run's own; the
    mean is restricted to the largest of them. The interval is Student's over the jackknife's pseudo-values (Andersen,
    Hansen and Klein 2004), which are min(budget, limit) where all runs share one limit. Where more than `most_missed`
    of the runs missed, or all agree, the spread says nothing and the ends are NaN.
    """
    array = np.asarray(budgets, dtype=float)
    ends = np.broadcast_to(np.asarray(limit, dtype=float), array.shape)
    ends, array = ends[~np.isnan(array)], array[~np.isnan(array)]
    if not array.size:
        return Interval(math.nan, math.nan, math.nan, 0)
    times, reached, last = np.minimum(array, ends), array <= ends, float(ends.max())
    mean, n = kaplan_meier(times, reached).area(last), len(times)
    missed = 1.0 - float(reached.mean())
    if n < 2 or missed > most_missed or np.ptp(times) == 0:
        return Interval(mean, math.nan, math.nan, n)
    others = ~np.eye(n, dtype=bool)
    without = np.array([kaplan_meier(times[keep], reached[keep]).area(last) for keep in others])
    spread = t_interval(n * mean - (n - 1) * without, level)
    return Interval(mean, mean - (spread.mean - spread.low), mean + (spread.high - spread.mean), n)
