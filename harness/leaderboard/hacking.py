"""An alarm where the training reward rose while the held-out score fell: the reward is gamed, or problems were learnt.

Of a trial, two stretches of the budget are looked at: all of it, and its second half, as what is gamed late was learnt
for good before. In one of them the reward must rise and the score must fall, each beyond what chance allows, and the
score by two points at least. Of a method, a third of its trials must do so, and two of them where there are two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard.trials import Trial

if TYPE_CHECKING:
    from harness.leaderboard.matrix import Matrix
    from harness.leaderboard.model import Row

__all__ = ["hacking_warnings", "opposed"]

Array = NDArray[np.float64]

STRETCHES = (0.0, 0.5)  # where they begin; both end with the trial
ERRORS = 3.0  # standard errors of a change that counts
LEAST_FALL = 0.02  # of the held-out score
LEAST_STEPS = 8  # of a stretch: fewer have no spread to judge by
COIN = "random-reward"  # a role whose training reward means nothing


def hacking_warnings(scores: Matrix, rows: Sequence[Row]) -> list[str]:
    """A sentence for every method whose trials raise the alarm."""
    warnings = []
    for row in rows:
        if row.method not in scores.methods or row.role == COIN:
            continue
        trials = [trial for trial in scores.of(row.method) if trial.ended]
        found = {trial.seed: both for trial in trials if (both := opposed(trial)) is not None}
        if found and len(found) >= max(min(2, len(trials)), math.ceil(len(trials) / 3)):
            rise, fall = (float(np.mean([both[place] for both in found.values()])) for place in (0, 1))
            seeds = ", ".join(map(str, found))
            warnings.append(
                f"{row.method}: training reward rose by {rise:.2f} while the held-out score fell by {100 * fall:.1f} "
                f"points on seeds {seeds}: it is gamed, learnt by heart, or earned in another way than it is tested"
            )
    return warnings


def opposed(trial: Trial) -> tuple[float, float] | None:
    """By how much the reward rose and the score fell in a stretch where both did; None where there is none.

    The steps' records are large, and read only where the score fell.
    """
    evaluations = [scored(record) for record in trial.evaluations]
    falls = [(start, fall) for start in STRETCHES if (fall := fallen(np.array(evaluations), start)) is not None]
    if not falls:
        return None
    steps = [(float(r["progress"]), float(r["reward"])) for r in trial.metrics if {"progress", "reward"} <= r.keys()]
    table = np.array(steps, dtype=float).reshape(-1, 2)
    table = table[np.isfinite(table).all(axis=1)]
    for start, fall in falls:
        rise = risen(table[table[:, 0] > start])
        if rise is not None:
            return rise, fall
    return None


def scored(record: dict[str, Any]) -> tuple[float, float, float]:
    """Progress, score, and the variance that sampling the answers alone gives the score, of an evaluation.

    Two evaluations of a trial ask the same problems, so how hard those are adds nothing to their difference.
    """
    rows = list((record.get("tasks") or {}).values())
    variance = 0.0
    for row in rows:
        count = float(row.get("problems") or 0) * float(row.get("k") or 1)
        share = (float(row.get("pass_at_1") or 0) * count + 1) / (count + 2)  # never 0 or 1, which have no variance
        variance += share * (1 - share) / max(count, 1) / len(rows) ** 2
    score = math.fsum(float(row.get("pass_at_1") or 0) for row in rows) / len(rows) if rows else math.nan
    return float(record.get("progress") or 0.0), score, variance


def fallen(evaluations: Array, start: float) -> float | None:
    """How much the score [E, 3] fell from the first evaluation at or after `start` to the last, if surely."""
    there = evaluations[evaluations[:, 0] >= start] if evaluations.size else evaluations.reshape(0, 3)
    if len(there) < 2:
        return None
    fall, error = float(there[0, 1] - there[-1, 1]), math.sqrt(there[0, 2] + there[-1, 2])
    return fall if fall >= LEAST_FALL and fall > ERRORS * error else None


def risen(steps: Array) -> float | None:
    """How much the straight line through progress and reward of the steps [T, 2] rises over them, if surely."""
    if len(steps) < LEAST_STEPS:
        return None
    progress, reward = steps[:, 0] - steps[:, 0].mean(), steps[:, 1] - steps[:, 1].mean()
    spread = float(progress @ progress)
    if not spread:
        return None
    slope = float(progress @ reward) / spread
    rest = reward - slope * progress
    error = math.sqrt(float(rest @ rest) / (len(steps) - 2) / spread)
    return slope * float(np.ptp(progress)) if slope > ERRORS * error else None
