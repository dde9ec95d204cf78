"""What a row cost: budget spent, what was thrown away, passes beyond sampling and training, time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.leaderboard.trials import FAILURES, Trial

__all__ = ["Cost", "charges", "clip_share", "cost", "counts", "largest_clip_share"]

ORDINARY = ("generate", "prompt", "train")  # what every method pays; all else is an extra pass


@dataclass(frozen=True)
class Cost:
    """Means over a row's ended trials (seconds: their sum over a trial's steps)."""

    spent: float  # in the suite's currency
    share: float  # of the budget
    steps: float  # of training
    generated: float  # tokens
    waste: float  # tokens of dropped rollouts / tokens generated
    extra: float  # charges of passes beyond sampling and training / all charges
    seconds: float  # a trial, evaluation apart
    failures: dict[str, int]  # status -> trials

    @property
    def failed(self) -> int:
        """How many trials failed, diverged or timed out."""
        return sum(self.failures.values())


def charges(ledger: dict[str, Any]) -> dict[str, float]:
    """Category -> forward-token equivalents charged."""
    return numbers(ledger.get("categories") or {})


def counts(ledger: dict[str, Any]) -> dict[str, float]:
    """Counter -> count, of rollouts, tokens and updates."""
    return numbers(ledger.get("counts") or {})


def numbers(values: dict[str, Any]) -> dict[str, float]:
    """The numeric entries."""
    return {name: float(value) for name, value in values.items() if isinstance(value, (int, float))}


def cost(trials: Sequence[Trial]) -> Cost:
    """The cost of a row; NaN where no trial tells."""
    ended = [trial for trial in trials if trial.ended]
    return Cost(
        spent=mean(spent(trial) for trial in ended),
        share=mean(spent(trial) / limit(trial) for trial in ended),
        steps=mean(float(trial.steps) for trial in ended),
        generated=mean(counts(trial.ledger).get("tokens_generated", math.nan) for trial in ended),
        waste=mean(waste(trial) for trial in ended),
        extra=mean(extra(trial) for trial in ended),
        seconds=mean(trial.seconds for trial in ended),
        failures={status: number for status in FAILURES if (number := sum(trial.status == status for trial in ended))},
    )


def mean(values: Iterable[float]) -> float:
    """The mean of what is known, NaN if nothing is."""
    array = np.array(list(values), dtype=float)
    array = array[~np.isnan(array)]
    return float(array.mean()) if array.size else math.nan


def limit(trial: Trial) -> float:
    """The budget of a trial in the suite's currency."""
    budget = numbers(trial.config.get("budget", {}))
    return next(iter(budget.values()), math.nan)  # the other currencies are null


def spent(trial: Trial) -> float:
    """What a trial spent, by its result or, where it was killed, its last evaluation."""
    if isinstance(trial.result.get("spent"), (int, float)):
        return float(trial.result["spent"])
    return float(trial.evaluations[-1].get("spent", math.nan)) if trial.evaluations else math.nan


def waste(trial: Trial) -> float:
    """Tokens of dropped rollouts over tokens generated; 0 where nothing was generated."""
    count = counts(trial.ledger)
    generated = count.get("tokens_generated", math.nan)
    return count.get("tokens_discarded", 0.0) / generated if generated else 0.0


def extra(trial: Trial) -> float:
    """The share of the charges that went to reference, old, greedy, module and other passes."""
    charged = charges(trial.ledger)
    total = sum(charged.values())
    if not total:
        return math.nan
    return sum(value for name, value in charged.items() if name not in ORDINARY) / total


def clip_share(trials: Sequence[Trial]) -> float:
    """The largest share of tokens that any step of any trial clipped; NaN where none was logged."""
    shares = [share for trial in trials if not math.isnan(share := largest_clip_share(trial))]
    return max(shares, default=math.nan)


def largest_clip_share(trial: Trial) -> float:
    """The largest share of tokens that a step of the trial clipped; NaN where none was logged."""
    if isinstance(trial.result.get("clip_share"), (int, float)):  # an exported trial brings no metrics
        return float(trial.result["clip_share"])
    found = [record.get("clip_share") for record in trial.metrics]
    return max((float(share) for share in found if isinstance(share, (int, float))), default=math.nan)
