"""The board as data: its rows, and what it was computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.leaderboard.costs import Cost
from harness.leaderboard.known import instead
from harness.leaderboard.matrix import Matrix, Metric
from harness.leaderboard.statistics import Interval
from harness.leaderboard.targets import Reached, Target
from harness.leaderboard.tuning import DEFAULTS, Tuning

__all__ = ["CONTROLS", "LEAST_SEEDS", "LEVEL", "UNTRAINED", "Board", "Difference", "Row", "role_of", "under_placebo"]

LEVEL = 0.05
LEAST_SEEDS = 5  # below, a board is provisional and claims nothing
CONTROLS = ("placebo", "random-reward")  # methods that keep a board honest; never ranked as claims
UNTRAINED = "untrained"


def role_of(method: str) -> str:
    """'placebo' or 'random-reward' where the stack holds that control, else 'method'."""
    names = [plugin_of(part) for part in method.split("+")]
    return next((control for control in CONTROLS if control in names), "method")


def plugin_of(part: str) -> str:
    """The name alone of a part of a stack, without parameters and distribution."""
    return part.partition("(")[0].partition("@")[0].strip()


def under_placebo(method: str) -> str:
    """The stack that a placebo stands on; '' where it stands alone."""
    return "+".join(part for part in method.split("+") if plugin_of(part) != "placebo")


@dataclass(frozen=True)
class Difference:
    """A row against the baseline, paired by seed."""

    interval: Interval  # simultaneous over the board's methods
    p: float  # paired t, unadjusted
    p_holm: float  # adjusted over the board's methods
    p_sign: float  # exact sign-flip, Holm-adjusted; NaN where the seeds cannot reach the level
    p_better: float  # probability of improvement, ties one half
    verdict: str  # better, worse or ""; of a measure of which more is not better: higher, lower or ""


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
    unweighed: tuple[str, ...] = ()  # reward columns that it trains on and the suite weighs 0
    versions: tuple[str, ...] = ()
    rank: tuple[int, int] | None = None  # the ranks that it may hold, 1 the best; None for controls
    letters: str = ""  # rows that share one cannot be told apart
    reached: Reached | None = None  # budget to the board's target
    evaluation_error: float = math.nan  # one standard error over problems, apart from the seeds' interval
    avg_at_k: float = math.nan  # mean over tasks and seeds, like the score
    pass_at_k: float = math.nan
    length: float = math.nan  # tokens of an evaluation's answer, mean over tasks and seeds
    k: int = 0  # of avg@k and pass@k; 0 where evaluations took no samples
    tuning: Tuning = DEFAULTS

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
    target: Target | None = None  # of the budget to target
    detectable: tuple[float, int] = (math.nan, 0)  # least difference found with a chance of 80 %, and the seeds
    tuning: Tuning = DEFAULTS  # the track: every row has the same number of trials
    sources: tuple[str, ...] = ()  # of a merged board: the directories that it was made from

    @property
    def currency(self) -> str:
        """What the budget is counted in."""
        return next(iter(self.budget), "budget")

    @property
    def reduce(self) -> str:
        """How a seed's tasks become one number: 'mean' or 'iqm'."""
        return self.matrix.reduce

    def row(self, method: str) -> Row:
        """The row of a method; UsageError names the nearest known one."""
        rows = {row.method: row for row in self.rows}
        if method not in rows:
            raise UsageError(f"no row {method!r} on this board.{instead(method, rows)}")
        return rows[method]
