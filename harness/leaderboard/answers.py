"""From single answers: how far a row's score would move on other problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.matrix import Metric
from harness.leaderboard.trials import Answers, Trial

__all__ = ["by_item", "item_error", "samples_of"]

Array = NDArray[np.float64]


def samples_of(trials: Sequence[Trial]) -> int:
    """The k that the evaluations state for pass@k, the least of them; 0 where none does."""
    stated = [
        int(values["k"])
        for trial in trials
        for evaluation in trial.evaluations[-1:]
        for values in evaluation.get("tasks", {}).values()
        if values.get("k")
    ]
    return min(stated, default=0)


def item_error(trials: Sequence[Trial], metric: Metric, tasks: Sequence[str], reduce: str = "mean") -> float:
    """One standard error of a row's score over problems, the trained policies held still.

    Every seed answers the same problems, so a problem's answers are one cluster; tasks have different problems, so the
    variances of their means add. NaN for areas, for other measures than shares of right answers, for interquartile
    means (of more than three tasks: of fewer they are means), and where answers were not kept.
    """
    if metric.area or (reduce != "mean" and len(tasks) > 3) or not tasks:
        return math.nan
    measure = measures(samples_of(trials)).get(metric.measure)
    if measure is None:
        return math.nan
    errors = [statistics.evaluation_error(values) if values.size else math.nan
              for values in (by_item(trials, task, measure) for task in tasks)]  # fmt: skip
    return math.sqrt(sum(error**2 for error in errors)) / len(errors)


def measures(k: int) -> dict[str, Callable[[Answers], Array]]:
    """Measure -> its value on each problem."""

    def sampled(value: Callable[[Answers], Array]) -> Callable[[Answers], Array]:
        """As evaluations have it: without samples the greedy answer is the only one."""
        return lambda one: value(one) if one.samples.size and one.samples.min() else one.greedy.astype(float)

    found = {
        "accuracy": lambda one: one.greedy.astype(float),
        "pass_at_1": sampled(lambda one: statistics.avg_at_k(one.correct, one.samples)),
    }
    if k:
        found["pass_at_k"] = sampled(lambda one: statistics.pass_at_k(one.correct, one.samples, k))
    return found


def by_item(trials: Sequence[Trial], task: str, measure: Callable[[Answers], Array]) -> Array:
    """The measure of every trial that is done on every problem that all of them answered, [S, I]."""
    kept = [trial.answers[task] for trial in trials if trial.status == "done" and task in trial.answers]
    if not kept:
        return np.zeros((0, 0))
    values = [measure(one) for one in kept]
    if all(one.keys == kept[0].keys for one in kept):
        return np.stack(values)
    known = [dict(zip(one.keys, value, strict=True)) for one, value in zip(kept, values, strict=True)]
    shared = [key for key in known[0] if all(key in one for one in known)]
    return np.array([[one[key] for key in shared] for one in known])
