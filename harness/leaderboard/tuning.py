"""The tuning track of a board, read here and nowhere else: published defaults, or the same number of trials for all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageError
from harness.leaderboard.trials import Trial

__all__ = ["DEFAULTS", "Tuning", "of_row", "of_suite"]

TRIALS = ("trials", "n")  # where a section may say how many trials a method gets
COST = ("cost", "spent")  # and what they spent, in the suite's currency


@dataclass(frozen=True)
class Tuning:
    """What was spent on choosing hyper-parameters before the reported seeds were run."""

    trials: int = 0
    cost: float = 0.0  # of one method's search, in the suite's currency; NaN where it was not recorded

    @property
    def track(self) -> str:
        """'published defaults' or 'tuned, 8 trials'."""
        if not self.trials:
            return "published defaults"
        return f"tuned, {self.trials} trial{'s' * (self.trials != 1)}"


DEFAULTS = Tuning()


def of_suite(settings: Mapping[str, Any]) -> Tuning:
    """The track that a suite's `tuning` section plans: none or empty is the published defaults."""
    return read(settings.get("tuning"))


def of_row(settings: Mapping[str, Any], trials: Sequence[Trial]) -> Tuning:
    """The tuning of a method, by what its trials recorded or else by the suite.

    Raises UsageError where its trials are of different tracks.
    """
    told = [read(trial.record["tuning"]) for trial in trials if trial.record.get("tuning") is not None]
    if len({one.trials for one in told}) > 1:
        tracks = " and ".join(sorted({one.track for one in told}))
        raise UsageError(f"{trials[0].method}: its trials are of different tracks ({tracks}), which never mix")
    return told[0] if told else of_suite(settings)


def read(section: Any) -> Tuning:
    """A `tuning` section: a number of trials, or a mapping that holds one, and the cost where it is known."""
    if isinstance(section, Mapping):
        trials = next((section[name] for name in TRIALS if isinstance(section.get(name), int)), 0)
        cost = next((float(section[name]) for name in COST if isinstance(section.get(name), (int, float))), math.nan)
    else:
        trials, cost = (section if isinstance(section, int) else 0), math.nan
    return Tuning(int(trials), cost) if trials > 0 else DEFAULTS
