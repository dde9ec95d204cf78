"""What of a trial becomes MLflow metrics: curves over the budget, thinned, finite, with names that MLflow takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from harness.leaderboard.costs import charges, counts
from harness.leaderboard.trials import Trial
from harness.tracking.names import encode

__all__ = ["MOST_KEYS", "MOST_POINTS", "PER_MILLE", "Point", "trial_points"]

PER_MILLE = 1000  # curves' step: thousandths of the budget spent, so that pages which compare runs line them up
MOST_POINTS = 900  # a trial: one request takes them, with its params
MOST_KEYS = 58  # metric names a run: beyond, MLflow's pages crawl
NOT_CURVES = ("step", "spent", "progress", "seed")


class Point(NamedTuple):
    """One value of one metric."""

    key: str
    value: float
    step: int


def trial_points(trial: Trial) -> list[Point]:
    """All points of a trial, at most MOST_POINTS and MOST_KEYS; `health/nonfinite` counts what could not be logged."""
    fixed = [*evaluation_points(trial), *cost_points(trial)]
    train: dict[str, list[Point]] = {}
    for point in training_points(trial):
        train.setdefault(point.key, []).append(point)
    broken = [point for points in (fixed, *train.values()) for point in points if not math.isfinite(point.value)]
    fixed = [point for point in fixed if math.isfinite(point.value)]
    last = max((point.step for point in fixed), default=0)
    fixed.append(Point("health/nonfinite", float(len(broken)), last))
    names = list(train)[: max(0, MOST_KEYS - len({point.key for point in fixed}))]
    room = max(0, MOST_POINTS - len(fixed)) // max(1, len(names))
    return fixed[:MOST_POINTS] + [point for name in names for point in thin(train[name], room)]


def budget_step(record: dict[str, Any]) -> int:
    """A record's place on the budget, in thousandths."""
    return round(PER_MILLE * float(record.get("progress", 0.0)))


def numeric(values: dict[str, Any]) -> Iterable[tuple[str, float]]:
    """The numeric entries of a record; truth values are none."""
    for name, value in values.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, float(value)


def evaluation_points(trial: Trial) -> Iterable[Point]:
    """eval/score and eval/TASK/MEASURE at every evaluation."""
    for record in trial.evaluations:
        step = budget_step(record)
        yield from (Point("eval/score", value, step) for name, value in numeric(record) if name == "score")
        for task, measures in record.get("tasks", {}).items():
            for name, value in numeric(measures):
                if name not in {"k", "problems"}:
                    yield Point(encode(f"eval/{task}/{name}"), value, step)


def cost_points(trial: Trial) -> Iterable[Point]:
    """cost/...: charges by category and counts, as they stood at the last evaluation."""
    step = budget_step(trial.evaluations[-1]) if trial.evaluations else 0
    for name, value in [*charges(trial.ledger).items(), *counts(trial.ledger).items()]:
        yield Point(encode(f"cost/{name}"), value, step)
    if not math.isnan(trial.seconds):
        yield Point("cost/seconds", trial.seconds, step)


def training_points(trial: Trial) -> Iterable[Point]:
    """train/...: the metrics of every step; under a budget of seconds, whose steps hold no progress, evenly spread."""
    reached = float(trial.evaluations[-1].get("progress", 1.0)) if trial.evaluations else 1.0
    steps = trial.metrics  # read from its file at every call
    for place, given in enumerate(steps, start=1):
        record = {"progress": reached * place / len(steps), **given}
        for name, value in numeric(record):
            if name not in NOT_CURVES:
                yield Point(encode(f"train/{name}"), value, budget_step(record))


def thin(points: Sequence[Point], room: int) -> list[Point]:
    """At most `room` points of one metric: the first finite one in each of `room` equal stretches of the budget.

    The stretches do not depend on how far the trial has come, so a trial that grows keeps the points it has logged.
    """
    if room < 1:
        return []
    kept: dict[int, Point] = {}
    for point in points:
        if math.isfinite(point.value):
            kept.setdefault(min(point.step * room // PER_MILLE, room - 1), point)
    return list(kept.values())
