"""The columns of the board, once for all formats: what each shows, and what it means; docs/statistics.md says more."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.errors import UsageError, nearest
from harness.leaderboard.cells import (
    NOTHING,
    Column,
    amount,
    name,
    number,
    points,
    probability,
    ranks,
    ratio,
    scale,
    seconds,
    seeds,
    title,
    verdict,
    whole,
)
from harness.leaderboard.model import Board, Row
from harness.leaderboard.more_columns import budget_columns, cost_columns, sample_columns
from harness.leaderboard.notes import footnotes

__all__ = [
    "Column", "amount", "columns", "footnotes", "number", "points", "probability", "ratio", "scale", "seconds",
    "select", "title", "whole",
]  # fmt: skip


def of_difference(name: str) -> Callable[[Row], float]:
    """A number of the row's difference, NaN where it has none."""
    return lambda row: math.nan if row.difference is None else float(getattr(row.difference, name))


def columns(board: Board) -> list[Column]:
    """The board's columns in order."""
    return [
        *result_columns(board), *rank_columns(), *task_columns(board), *budget_columns(board), *sample_columns(board),
        *cost_columns(board),
    ]  # fmt: skip


def result_columns(board: Board) -> list[Column]:
    """Who scored what, and how it compares."""
    p_holm, p_sign, p_better = (of_difference(n) for n in ("p_holm", "p_sign", "p_better"))
    by = scale(board)
    span = "" if board.comparisons < 2 else f", simultaneous over the {board.comparisons} methods compared"
    against = f"to {board.baseline}, paired by seed, with its 95 % interval{span}; the board is sorted by its lower end"
    middle = "interquartile mean" if board.reduce == "iqm" else "mean"
    return [
        Column("method", "the stack of plugins in its canonical spelling", name, lambda r: r.method, numeric=False),
        Column("n", "seeds whose trial has ended, failures included", seeds, lambda r: r.n),
        Column(
            title(board),
            f"mean over seeds of the {middle} over tasks, with its 95 % t-interval over seeds",
            lambda r: points(board, r.score),
            lambda r: by * r.score.mean,
            section="score",
        ),
        Column(
            "difference",
            against,
            lambda r: points(board, r.difference.interval, sign=True) if r.difference else NOTHING,
            lambda r: by * r.order if r.order > -math.inf else math.nan,
        ),
        Column(
            "verdict",
            f"{' or '.join(board.metric.claims)} where Holm's p < .05; - claims nothing",
            verdict,
            verdict,
            numeric=False,
        ),
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


def rank_columns() -> list[Column]:
    """Where a method may stand, and with whom."""
    return [
        Column(
            "rank",
            "ranks that the method may truly hold, all ranges together with 95 %",
            ranks,
            lambda r: float(sum(r.rank)) / 2 if r.rank else math.nan,
        ),
        Column(
            "letters",
            "methods that share a letter cannot be told apart",
            lambda r: r.letters or NOTHING,
            lambda r: r.letters,
            numeric=False,
        ),
    ]


def task_columns(board: Board) -> list[Column]:
    """The measure on each task, where there are several."""
    by = scale(board)

    def column(task: str) -> Column:
        def value(row: Row) -> float:
            return by * row.tasks.get(task, math.nan)

        meaning = f"mean over seeds of {board.metric.measure} on {task}"
        return Column(task, meaning, lambda r: number(value(r)), value, section="*a task's name*")

    return [column(task) for task in (board.matrix.tasks if len(board.matrix.tasks) > 1 else ())]


def select(board: Board, names: str) -> list[Column]:
    """The columns of `names`, 'all' or headings with commas between; the method always comes first.

    Raises UsageError for a heading that the board does not have.
    """
    known = columns(board)
    if names.strip().lower() == "all":
        return known
    by_name = {column.title.lower(): column for column in known}
    by_name |= {column.explained.lower(): column for column in known if not column.explained.startswith("*")}
    chosen = [by_name["method"]]
    wanted = [part.strip().lower() for part in names.split(",") if part.strip()]
    if not wanted:
        raise UsageError(f"--columns {names}: names no column; write headings with commas between, or `all`")
    for asked in wanted:
        if asked not in by_name:
            raise UsageError(f"--columns {asked}: no such column.{nearest(asked, by_name)} `all` shows what there is.")
        chosen.append(by_name[asked])
    return list(dict.fromkeys(chosen))
