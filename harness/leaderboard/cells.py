"""What stands in the cells of a board: numbers, intervals and durations as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.leaderboard.model import Board, Row
from harness.leaderboard.statistics import Interval

__all__ = [
    "MINUS", "NOTHING", "Column", "amount", "failures", "give_or_take", "name", "number", "points", "probability",
    "ranks", "ratio", "scale", "seconds", "seeds", "title", "to_target", "tuned", "verdict", "whole",
]  # fmt: skip

# measures in [0, 1], shown in points of 100
SHARES = ("score", "accuracy", "pass_at_1", "pass_at_k", "strict", "truncated")
MINUS = "\N{MINUS SIGN}"
NOTHING = "-"


@dataclass(frozen=True)
class Column:
    """A column: its heading, its meaning in a sentence, its text and its sortable value for a row."""

    title: str
    meaning: str
    text: Callable[[Row], str]
    value: Callable[[Row], float | str | None]
    numeric: bool = True
    section: str = ""  # where docs/statistics.md explains it, if not under its heading

    @property
    def explained(self) -> str:
        """The heading of its line in docs/statistics.md."""
        return self.section or self.title


def number(value: float, digits: int = 1, sign: bool = False) -> str:
    """A number for people; '-' where there is none."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    if not float(text):  # neither +0.0 nor -0.0
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def probability(value: float) -> str:
    """A p-value or probability to three places; small ones as a bound."""
    if math.isnan(value):
        return NOTHING
    if value in {0.0, 1.0}:
        return f"{value:.0f}"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def ratio(value: float) -> str:
    """A share as a percentage."""
    return NOTHING if math.isnan(value) else f"{100 * value:.0f}%"


def whole(value: float) -> str:
    """A count, or a mean of counts to one place."""
    return number(value, digits=0 if value.is_integer() else 1)


def scale(board: Board) -> float:
    """100 for measures that are shares, 1 for others such as lengths."""
    return 100.0 if board.metric.measure in SHARES else 1.0


def points(board: Board, interval: Interval, sign: bool = False) -> str:
    """'43.1 [40.2, 46.0]' in points; without ends below two seeds."""
    by = scale(board)
    mean = number(by * interval.mean, sign=sign)
    if math.isnan(interval.low):
        return mean
    return f"{mean} [{number(by * interval.low, sign=sign)}, {number(by * interval.high, sign=sign)}]"


def name(row: Row) -> str:
    """The method with its marks."""
    marks = {"baseline": "baseline", "placebo": "control", "random-reward": "control", "untrained": "control"}
    said = [marks[row.role]] if row.role in marks else []
    said += ["experimental"] if row.experimental else []
    said += ["inert"] if row.inert else []
    said += ["unweighed"] if row.unweighed else []
    return f"{row.method} ({', '.join(said)})" if said else row.method


def seeds(row: Row) -> str:
    """'5', or '3 of 5' while trials are missing."""
    return str(row.n) if row.n == row.expected else f"{row.n} of {row.expected}"


def give_or_take(value: float) -> str:
    """'\N{PLUS-MINUS SIGN}1.2'."""
    return NOTHING if math.isnan(value) else "\N{PLUS-MINUS SIGN}" + number(value)


def seconds(value: float) -> str:
    """A duration of a trial."""
    if math.isnan(value):
        return NOTHING
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def failures(row: Row) -> str:
    """'1 failed, 2 timeout', '0' or '-'."""
    if row.cost is None:
        return NOTHING
    return ", ".join(f"{count} {status}" for status, count in row.cost.failures.items()) or "0"


def amount(value: float) -> str:
    """A budget or a cost in three digits: '812k', '1.2M'."""
    if math.isnan(value):
        return NOTHING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            part = value / size
            return f"{part:.1f}{unit}" if part < 10 else f"{part:.0f}{unit}"
    return f"{value:.0f}"


def to_target(row: Row) -> str:
    """'640k [512k, 768k], 4 of 5': the restricted mean budget, and how many trials reached the target."""
    if row.reached is None:
        return NOTHING
    interval, count = row.reached.budget, f"{row.reached.reached} of {row.reached.of}"
    ends = "" if math.isnan(interval.low) else f" [{amount(interval.low)}, {amount(interval.high)}]"
    return f"{amount(interval.mean)}{ends}, {count}"


def ranks(row: Row) -> str:
    """'1\N{EN DASH}4', or '3' where it is certain."""
    if row.rank is None:
        return NOTHING
    low, high = row.rank
    return str(low) if low == high else f"{low}\N{EN DASH}{high}"


def tuned(row: Row) -> str:
    """'defaults', or '8 trials, 7.2M' with what they cost."""
    if row.cost is None:
        return NOTHING
    if not row.tuning.trials:
        return "defaults"
    cost = "" if math.isnan(row.tuning.cost) else f", {amount(row.tuning.cost)}"
    return f"{row.tuning.trials} trial{'s' * (row.tuning.trials != 1)}{cost}"


def verdict(row: Row) -> str:
    """better, worse, or '-' for no claim."""
    return (row.difference.verdict if row.difference else "") or NOTHING


def title(board: Board) -> str:
    """The heading of the score column."""
    name = board.metric.name.replace("_at_", "@")
    return f"{name} (IQM)" if board.reduce == "iqm" else name
