"""From trials to the score matrix: methods x seeds x tasks, with failures scored by the rules of comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError, nearest
from harness.leaderboard import statistics
from harness.leaderboard.known import instead
from harness.leaderboard.trials import Trial

__all__ = ["Matrix", "Metric", "curve", "matrix"]

Array = NDArray[np.float64]

HEADLINE = "pass_at_1"
RISING = ("accuracy", "pass_at_1", "pass_at_k", "strict")  # of other measures, such as lengths, more is not better
AREA = "auc"


@dataclass(frozen=True)
class Metric:
    """What the board ranks by: a measure of the evaluation, over all tasks or one, at the end or over the budget."""

    name: str
    measure: str
    task: str | None = None
    area: bool = False

    @property
    def rising(self) -> bool:
        """Whether more of it is better."""
        return self.measure in RISING

    @property
    def claims(self) -> tuple[str, str]:
        """What is said of a method that is sure to have more of it, and less."""
        return ("better", "worse") if self.rising else ("higher", "lower")

    @classmethod
    def parse(cls, text: str, trials: Iterable[Trial]) -> Metric:
        """Read 'score', 'auc', MEASURE, TASK, TASK/MEASURE or TASK/auc; UsageError names the nearest known one."""
        tasks, measures = known_names(trials)
        known: dict[str, tuple[str, str | None, bool]] = {
            "score": (HEADLINE, None, False),
            AREA: (HEADLINE, None, True),
        }
        known |= {measure: (measure, None, False) for measure in measures}
        for task in tasks:
            known[task] = (HEADLINE, task, False)
            known[f"{task}/{AREA}"] = (HEADLINE, task, True)
            known |= {f"{task}/{measure}": (measure, task, False) for measure in measures}
        if text not in known:
            named = f" There is {', '.join(['score', AREA, *measures, *tasks])}, and TASK/MEASURE."
            raise UsageError(f"unknown metric {text!r}.{nearest(text, known) or named}")
        return cls(text, *known[text])

    def tasks(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """The tasks that enter."""
        return tuple(tasks) if self.task is None else (self.task,)

    def of(self, evaluation: dict[str, Any], tasks: Sequence[str]) -> Array:
        """The measure of each task in one evaluation, [tasks]; NaN where it was not taken."""
        found = evaluation.get("tasks", {})
        return np.array([float(found.get(task, {}).get(self.measure, math.nan)) for task in tasks])


def known_names(trials: Iterable[Trial]) -> tuple[list[str], list[str]]:
    """Tasks and numeric measures that the evaluations hold, sorted."""
    tasks: set[str] = set()
    measures: set[str] = set()
    for trial in trials:
        for evaluation in trial.evaluations[:1]:
            for task, values in evaluation.get("tasks", {}).items():
                tasks.add(task)
                measures.update(name for name, value in values.items() if isinstance(value, (int, float)))
    return sorted(tasks), sorted(measures)


def curve(trial: Trial, metric: Metric, tasks: Sequence[str]) -> tuple[Array, Array]:
    """Progress [E] in fractions of the budget and the metric's measure [E, tasks] of a trial's evaluations."""
    progress = np.array([float(record.get("progress", 0.0)) for record in trial.evaluations])
    values = [metric.of(record, tasks) for record in trial.evaluations]
    return progress, np.array(values).reshape(len(values), len(tasks))


@dataclass(frozen=True)
class Matrix:
    """Scores of all trials of a suite; NaN marks a trial that has not ended."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    tasks: tuple[str, ...]
    final: Array  # [M, S, K], in the metric
    untrained: Array  # [M, S, K], first evaluation
    end: Array  # [M, S, K], the measure after the budget is spent, also where the metric is an area
    area: Array  # [M, S, K], mean of the measure over the budget
    trials: dict[tuple[str, int], Trial] = field(repr=False)
    reduce: str = "mean"
    curves: dict[tuple[str, int], tuple[Array, Array]] = field(repr=False, default_factory=dict)  # see `curve`

    @cached_property
    def scores(self) -> Array:
        """One number a trial, [M, S]."""
        return statistics.per_seed(self.final, self.reduce)

    @cached_property
    def areas(self) -> Array:
        """Area under the score-budget curve, one number a trial, [M, S]."""
        return statistics.per_seed(self.area, self.reduce)

    def row(self, method: str) -> int:
        """The index of a method; UsageError names the nearest known one."""
        if method not in self.methods:
            raise UsageError(f"no method {method!r} in this suite.{instead(method, self.methods)}")
        return self.methods.index(method)

    def of(self, method: str) -> list[Trial]:
        """The trials of a method that exist, by seed."""
        return [self.trials[method, seed] for seed in self.seeds if (method, seed) in self.trials]


def matrix(
    trials: Sequence[Trial], metric: Metric, methods: Sequence[str], seeds: Sequence[int], reduce: str = "mean"
) -> Matrix:
    """Fill the matrix: ended trials score their last evaluation, failures the lower of that and the untrained one."""
    tasks = metric.tasks(known_names(trials)[0])
    shape = (len(methods), len(seeds), len(tasks))
    untrained, end, area = (np.full(shape, math.nan) for _ in range(3))
    index = {(trial.method, trial.seed): trial for trial in trials}
    curves = {key: curve(trial, metric, tasks) for key, trial in index.items()}
    starts = start_of_seed(curves)
    for m, method in enumerate(methods):
        for s, seed in enumerate(seeds):
            trial = index.get((method, seed))
            if trial is None:
                continue
            progress, values = curves[method, seed]
            start = starts.get(seed, np.full(len(tasks), math.nan))
            if begins(progress):
                start = values[0]
            untrained[m, s] = start
            if not trial.ended:
                continue
            last = end[m, s] = ended_at(trial, start, values, reduce)
            area[m, s] = [
                statistics.area_under_curve(progress, values[:, k], float(last[k])) if len(values) else last[k]
                for k in range(len(tasks))
            ]
    final = area if metric.area else end
    return Matrix(tuple(methods), tuple(seeds), tasks, final, untrained, end, area, index, reduce, curves)


def start_of_seed(curves: dict[tuple[str, int], tuple[Array, Array]]) -> dict[int, Array]:
    """The untrained evaluation of each seed, for trials that failed before their own: weights and items are shared."""
    starts: dict[int, Array] = {}
    for (_, seed), (progress, values) in curves.items():
        if begins(progress):
            starts.setdefault(seed, values[0])
    if starts:
        mean = np.mean(list(starts.values()), axis=0)
        for _, seed in curves:
            starts.setdefault(seed, mean)
    return starts


def begins(progress: Array) -> bool:
    """Whether the first evaluation is that of the untrained policy."""
    return len(progress) > 0 and progress[0] == 0.0


def ended_at(trial: Trial, start: Array, values: Array, reduce: str) -> Array:
    """What an ended trial scores, [tasks]: its last evaluation; a failed one never more than the untrained policy."""
    last = values[-1] if len(values) else start
    if trial.status == "done":
        return last
    return start if statistics.per_seed(start, reduce) < statistics.per_seed(last, reduce) else last
