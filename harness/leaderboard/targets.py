"""Budget to target: the score that counts as there, and what each row spent to reach it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.leaderboard import statistics
from harness.leaderboard.costs import limit
from harness.leaderboard.matrix import Matrix, Metric
from harness.leaderboard.statistics import Interval
from harness.leaderboard.trials import Trial

__all__ = ["Reached", "Target", "choose_target", "reached"]


@dataclass(frozen=True)
class Target:
    """The score that counts as there, in the unit of the metric's measure, and the rule that gave it."""

    score: float
    rule: str


@dataclass(frozen=True)
class Reached:
    """What a row spent to reach the target: the restricted mean over its ended trials, and how many made it."""

    budget: Interval  # in the suite's currency; a miss counts as the whole budget
    reached: int
    of: int


def choose_target(text: str | None, scores: Matrix, metric: Metric, baseline: str) -> Target | None:
    """The target: the baseline's mean final score, or what `text` says; None where there is nothing to reach.

    `text` is a score as a share (0.45), or a percentage of the baseline's gain over the untrained policy (80%).
    """
    if not metric.rising:
        if text is not None:
            raise UsageError(f"--target {text}: {metric.measure} is no measure of which more is better")
        return None
    start, end = over_seeds(scores, baseline)
    if text is None:
        found = Target(end, f"the mean final score of {baseline}")
    elif text.strip().endswith("%"):
        part = number(text, text.strip()[:-1]) / 100
        found = Target(start + part * (end - start), f"{100 * part:g}% of the gain of {baseline}")
    else:
        found = Target(number(text, text), "as asked for")
        if not 0 <= found.score <= 1:
            raise UsageError(f"--target {text}: scores are shares, write 0.45 for 45 points or 80% of the gain")
    return None if math.isnan(found.score) else found


def number(text: str, part: str) -> float:
    """A finite number of --target."""
    try:
        value = float(part)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--target {text}: write a score as a share (0.45) or a part of the baseline's gain (80%)")
    return value


def over_seeds(scores: Matrix, method: str) -> tuple[float, float]:
    """Untrained and final score of a method, whatever the metric: means over its ended trials; NaN without any."""
    row = scores.row(method)
    start, end = (statistics.per_seed(values[row], scores.reduce) for values in (scores.untrained, scores.end))
    ended = ~np.isnan(end)
    return float(statistics.moments(start[ended])[1]), float(statistics.moments(end[ended])[1])


def reduced(scores: Matrix, trial: Trial) -> NDArray[np.float64]:
    """A trial's curve reduced over tasks, [E]."""
    return statistics.per_seed(scores.curves[trial.method, trial.seed][1], scores.reduce)


def reached(scores: Matrix, trials: Sequence[Trial], target: Target | None) -> Reached | None:
    """What the trials of a row spent to the target; None without a target or an ended trial."""
    ended = [trial for trial in trials if trial.ended]
    if target is None or not ended:
        return None
    limits = np.array([limit(trial) for trial in ended])
    spent = np.array([spent_to(scores, trial, target.score) for trial in ended])
    found, most = statistics.restricted_mean(spent, limits), float(limits.max())
    inside = replace(found, low=max(found.low, 0.0), high=min(found.high, most))  # the mean itself cannot leave it
    return Reached(inside if not math.isnan(found.low) else found, int(np.isfinite(spent).sum()), len(ended))


def spent_to(scores: Matrix, trial: Trial, target: float) -> float:
    """What one trial had spent when it first reached the target; infinite for a miss, and for every failure."""
    if trial.status != "done":
        return math.inf
    progress = scores.curves[trial.method, trial.seed][0]
    return statistics.budget_to_target(progress * limit(trial), reduced(scores, trial), target)
