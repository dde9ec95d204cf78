"""The columns of how early a method learned, of what the test problems leave open, and of what it all cost."""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.leaderboard.cells import (
    NOTHING,
    Column,
    failures,
    give_or_take,
    number,
    ratio,
    scale,
    seconds,
    to_target,
    tuned,
    whole,
)
from harness.leaderboard.model import Board, Row

__all__ = ["budget_columns", "cost_columns", "sample_columns"]


def of_cost(name: str) -> Callable[[Row], float]:
    """A number of the row's cost, NaN where it has none."""
    return lambda row: math.nan if row.cost is None else float(getattr(row.cost, name))


def budget_columns(board: Board) -> list[Column]:
    """How early a method learned."""
    by = scale(board)
    shown = []
    if not board.metric.area:
        shown.append(Column(
            "area",
            "mean score over the budget: the area under the score-budget curve",
            lambda r: number(by * r.area),
            lambda r: by * r.area,
        ))  # fmt: skip
    if board.target is not None:
        shown.append(Column(
            "to target",
            f"{board.currency} spent to reach {number(by * board.target.score)} ({board.target.rule}): mean within the "
            "budget with its 95 % interval, a miss counting as all of it, and how many trials reached it",
            to_target,
            lambda r: r.reached.budget.mean if r.reached else math.nan,
        ))  # fmt: skip
    return shown


def sample_columns(board: Board) -> list[Column]:
    """What the test problems themselves leave open."""
    by = scale(board)
    shown = []
    if any(not math.isnan(row.evaluation_error) for row in board.rows):
        shown.append(Column(
            "eval error",
            "one standard error of the score over other test problems, a problem's answers one cluster; not part of "
            "any interval here",
            lambda r: give_or_take(by * r.evaluation_error),
            lambda r: by * r.evaluation_error,
        ))  # fmt: skip
    k = max((row.k for row in board.rows), default=0)
    if k and (board.metric.area or board.metric.measure != "pass_at_1"):  # else it is the score
        meaning = f"mean share right of {k} samples a problem"
        shown.append(
            Column(f"avg@{k}", meaning, lambda r: number(100 * r.avg_at_k), lambda r: 100 * r.avg_at_k, section="avg@k")
        )
    if k and (board.metric.area or board.metric.measure != "pass_at_k"):
        meaning = f"chance that one of {k} samples is right, unbiased"
        shown.append(Column(
            f"pass@{k}", meaning, lambda r: number(100 * r.pass_at_k), lambda r: 100 * r.pass_at_k, section="pass@k"
        ))  # fmt: skip
    if any(not math.isnan(row.length) for row in board.rows) and (
        board.metric.area or board.metric.measure != "length"
    ):
        meaning = "tokens of an answer in the last evaluation, mean over tasks and seeds"
        shown.append(Column("length", meaning, lambda r: number(r.length), lambda r: r.length))
    return shown


def cost_columns(board: Board) -> list[Column]:
    """What it cost, and what it was made with."""
    share, steps, waste, extra, time = (of_cost(cost) for cost in ("share", "steps", "waste", "extra", "seconds"))
    return [
        Column("spent", f"share of the budget of {board.currency} that was used", lambda r: ratio(share(r)), share),
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
        Column(
            "tuning",
            f"defaults, or the trials of the search for hyper-parameters and the {board.currency} they spent",
            tuned,
            lambda r: float(r.tuning.trials) if r.cost else math.nan,
        ),
        Column(
            "version",
            "the packages that the plugins of the stack come from",
            lambda r: "; ".join(r.versions) or NOTHING,
            lambda r: "; ".join(r.versions),
            numeric=False,
        ),
    ]
