"""The board as data: its rows, and what it was computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError, nearest
from harness.leaderboard.costs import Cost
from harness.leaderboard.matrix import Matrix, Metric
from harness.leaderboard.statistics import Interval

__all__ = ["CONTROLS", "LEAST_SEEDS", "LEVEL", "UNTRAINED", "Board", "Difference", "Row", "role_of"]

LEVEL = 0.05
LEAST_SEEDS = 5  # below, a board is provisional and claims nothing
CONTROLS = ("placebo", "random-reward")  # methods that keep a board honest; never ranked as claims
UNTRAINED = "untrained"


def role_of(method: str) -> str:
    """'placebo' or 'random-reward' where the stack holds that control, else 'method'."""
    names = [part.split("(")[0].split("@")[0].strip() for part in method.split("+")]
    return next((control for control in CONTROLS if control in names), "method")


@dataclass(frozen=True)
class Difference:
    """A row against the baseline, paired by seed."""

    interval: Interval  # simultaneous over the board's methods
    p: float  # paired t, unadjusted
    p_holm: float  # adjusted over the board's methods
    p_sign: float  # exact sign-flip, Holm-adjusted; NaN where the seeds cannot reach the level
    p_better: float  # probability of improvement, ties one half
    verdict: str  # better, worse or ""


@dataclass(frozen=True)
class Row:
    """One line of the board."""

    method: str
    role: str  # method, baseline, placebo, random-reward, untrained
    expected: int  # trials planned
    scores: NDArray[np.float64]  # [S], NaN missing
    score: Interval  # over seeds
    tasks: dict[str, float]
    difference: Difference | None
    area: float  # mean score over the budget
    cost: Cost | None
    inert: bool = False  # its clip never took a token's gradient away
    experimental: bool = False
    versions: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Trials that have ended."""
        return self.score.n

    @property
    def order(self) -> float:
        """The lower end of the difference; 0 for the baseline, last where there is none."""
        if self.role == "baseline":
            return 0.0
        if self.difference is None or math.isnan(self.difference.interval.low):
            return -math.inf
        return self.difference.interval.low


@dataclass(frozen=True)
class Board:
    """Everything the tables, figures and MLflow show of a suite."""

    suite: str
    rules: int
    question: str
    metric: Metric
    baseline: str
    rows: tuple[Row, ...]
    matrix: Matrix = field(repr=False)
    comparisons: int  # the family of Holm and of the simultaneous intervals
    provisional: bool
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    budget: dict[str, float]
    settings: dict[str, Any] = field(repr=False, default_factory=dict)  # the resolved suite

    def row(self, method: str) -> Row:
        """The row of a method; UsageError names the nearest known one."""
        rows = {row.method: row for row in self.rows}
        if method not in rows:
            raise UsageError(f"no row {method!r} on this board.{nearest(method, rows)}")
        return rows[method]
