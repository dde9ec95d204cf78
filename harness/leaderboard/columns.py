"""The columns of the board, once for all formats: what each shows, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.leaderboard.model import Board, Row
from harness.leaderboard.statistics import Interval

__all__ = ["Column", "columns", "footnotes", "number", "points", "title"]

SHARES = ("score", "accuracy", "pass_at_1", "pass_at_k", "truncated")  # measures in [0, 1], shown in points of 100
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
    return f"{row.method} ({', '.join(said)})" if said else row.method


def seeds(row: Row) -> str:
    """'5', or '3 of 5' while trials are missing."""
    return str(row.n) if row.n == row.expected else f"{row.n} of {row.expected}"


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


def of_cost(name: str) -> Callable[[Row], float]:
    """A number of the row's cost, NaN where it has none."""
    return lambda row: math.nan if row.cost is None else float(getattr(row.cost, name))


def of_difference(name: str) -> Callable[[Row], float]:
    """A number of the row's difference, NaN where it has none."""
    return lambda row: math.nan if row.difference is None else float(getattr(row.difference, name))


def verdict(row: Row) -> str:
    """better, worse, or '-' for no claim."""
    return (row.difference.verdict if row.difference else "") or NOTHING


def columns(board: Board) -> list[Column]:
    """The board's columns in order."""
    return [*result_columns(board), *task_columns(board), *cost_columns(board)]


def result_columns(board: Board) -> list[Column]:
    """Who scored what, and how it compares."""
    p_holm, p_sign, p_better = (of_difference(n) for n in ("p_holm", "p_sign", "p_better"))
    by = scale(board)
    span = "" if board.comparisons < 2 else f", simultaneous over the {board.comparisons} methods compared"
    against = f"to {board.baseline}, paired by seed, with its 95 % interval{span}; the board is sorted by its lower end"
    return [
        Column("method", "the stack of plugins in its canonical spelling", name, lambda r: r.method, numeric=False),
        Column("n", "seeds whose trial has ended, failures included", seeds, lambda r: r.n),
        Column(
            title(board),
            "mean over seeds of the mean over tasks, with its 95 % t-interval over seeds",
            lambda r: points(board, r.score),
            lambda r: by * r.score.mean,
        ),
        Column(
            "difference",
            against,
            lambda r: points(board, r.difference.interval, sign=True) if r.difference else NOTHING,
            lambda r: by * r.order if r.order > -math.inf else math.nan,
        ),
        Column("verdict", "better or worse where Holm's p < .05; - claims nothing", verdict, verdict, numeric=False),
        Column("p", "paired t test, Holm-adjusted over the methods", lambda r: probability(p_holm(r)), p_holm),
        Column(
            "p sign",
            "exact sign-flip test, Holm-adjusted; - where so few seeds cannot reach .05",
            lambda r: probability(p_sign(r)),
            p_sign,
        ),
        Column(
            "P(better)",
            "chance that a run of the method beats a run of the baseline, ties one half",
            lambda r: probability(p_better(r)),
            p_better,
        ),
    ]


def task_columns(board: Board) -> list[Column]:
    """The measure on each task, where there are several, and the area under the curve."""
    by = scale(board)

    def column(task: str) -> Column:
        def value(row: Row) -> float:
            return by * row.tasks.get(task, math.nan)

        return Column(task, f"mean over seeds of {board.metric.measure} on {task}", lambda r: number(value(r)), value)

    shown = board.matrix.tasks if len(board.matrix.tasks) > 1 else ()
    area = Column(
        "area",
        "mean score over the budget: the area under the score-budget curve",
        lambda r: number(by * r.area),
        lambda r: by * r.area,
    )
    return [column(task) for task in shown] + ([] if board.metric.area else [area])


def cost_columns(board: Board) -> list[Column]:
    """What it cost."""
    share, steps, waste, extra, time = (of_cost(cost) for cost in ("share", "steps", "waste", "extra", "seconds"))
    currency = next(iter(board.budget), "budget")
    return [
        Column("spent", f"share of the budget of {currency} that was used", lambda r: ratio(share(r)), share),
        Column("steps", "steps of training a trial, mean over trials", lambda r: whole(steps(r)), steps),
        Column("waste", "tokens of dropped rollouts over tokens generated", lambda r: ratio(waste(r)), waste),
        Column("extra", "share of all passes beyond sampling and training", lambda r: ratio(extra(r)), extra),
        Column("time", "seconds of a trial, evaluation apart", lambda r: seconds(time(r)), time),
        Column(
            "failures",
            "trials that failed, diverged or timed out",
            failures,
            lambda r: float(r.cost.failed) if r.cost else math.nan,
        ),
    ]


def title(board: Board) -> str:
    """The heading of the score column."""
    return board.metric.name.replace("_at_", "@")


def footnotes(board: Board) -> list[str]:
    """Warnings first, then what to know: one sentence each."""
    lines = [f"WARNING: {warning}" for warning in board.warnings]
    if board.provisional:
        lines.append("Provisional: fewer than 5 seeds, so this board claims nothing.")
    lines += list(board.notes)
    if any(row.inert for row in board.rows):
        lines.append("inert: the method's clip never took a token's gradient away here: the clip is not tested.")
    return lines
