"""Forest plots: every row's paired difference to the baseline, over all tasks and task by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.leaderboard.colours import BASELINE, CONTROL, Look, looks
from harness.leaderboard.columns import number, probability, scale, title
from harness.leaderboard.compare import difference
from harness.leaderboard.figures.canvas import (
    GRID,
    QUIET,
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    seeds_text,
    small_title,
    tip,
    titled,
    unit,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.figures.series import LEAST_BAND
from harness.leaderboard.model import UNTRAINED, Board, Difference, Row
from harness.leaderboard.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["forest", "task_forest"]

MARKS = {"better": "^", "higher": "^", "worse": "v", "lower": "v"}
ACROSS = 3  # tasks beside each other
NONE_YET = "no row shares a seed with the baseline yet"


@figure_function
def forest(board: Board) -> Figure:
    """The difference of every row to the baseline with its simultaneous interval, in the board's order."""
    found = {row.method: row.difference for row in board.rows if row.difference and row.difference.interval.n}
    if not found:
        raise NoDataError(NONE_YET)
    figure = new_figure(0.6 + 0.22 * len(found))
    axes = figure.subplots()
    draw_forest(axes, board, found)
    write_numbers(axes, board, found)
    axes.set_xlabel(f"{title(board)} minus that of {board.baseline}{unit(board)}")
    span = f"simultaneous over {board.comparisons} methods" if board.comparisons > 1 else "of one comparison"
    claims = (
        "Provisional: fewer than 5 seeds, nothing is claimed."
        if board.provisional
        else f"Filled triangle: {' or '.join(board.metric.claims)} (Holm, .05); open circle: no claim."
    )
    titled(
        figure,
        f"{board.suite}: difference to {board.baseline}, {seeds_text(board)}",
        f"Paired by seed. Bars: 95% intervals, {span}; sorted by their lower end. {claims}",
    )
    return figure


@figure_function
def task_forest(board: Board) -> Figure:
    """The same for each task alone; the intervals hold over all methods and tasks together."""
    matrix = board.matrix
    if len(matrix.tasks) < 2:
        raise NoDataError("the board has one task: the forest shows it")
    family = max(board.comparisons, 1) * len(matrix.tasks)
    rows = [row for row in board.rows if row.method != board.baseline]
    by_task = [task_differences(board, rows, k, family) for k in range(len(matrix.tasks))]
    if not any(by_task):
        raise NoDataError(NONE_YET)
    order = [row.method for row in rows if any(row.method in found for found in by_task)]
    across = min(ACROSS, len(by_task))
    down = math.ceil(len(by_task) / across)
    figure = new_figure(down * (0.55 + 0.2 * len(order)))
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for place, axes in enumerate(panels):
        axes.set_visible(place < len(by_task))
        if place < len(by_task):
            draw_forest(axes, board, {method: by_task[place].get(method) for method in order}, fill_clear=True)
            small_title(axes, matrix.tasks[place])
    figure.supxlabel(f"{board.metric.measure.replace('_at_', '@')} minus that of {board.baseline}{unit(board)}", size=9)
    titled(
        figure,
        f"{board.suite}: difference to {board.baseline} on each task, {seeds_text(board)}",
        f"Paired by seed. Bars: 95% intervals, simultaneous over {board.comparisons} methods x "
        f"{len(matrix.tasks)} tasks; rows in the board's order. No tests here: filled circles' intervals leave out 0.",
    )
    return figure


def task_differences(board: Board, rows: Sequence[Row], task: int, family: int) -> dict[str, Difference | None]:
    """Method -> its difference on one task, of the rows that have any."""
    matrix = board.matrix
    base = matrix.row(board.baseline)
    found: dict[str, Difference | None] = {}
    for row in rows:
        values = matrix.untrained[base] if row.method == UNTRAINED else matrix.final[matrix.row(row.method)]
        one = difference(values[:, task], matrix.final[base][:, task], family)
        if one.interval.n:
            found[row.method] = one
    return found


def draw_forest(axes: Axes, board: Board, found: Mapping[str, Difference | None], *, fill_clear: bool = False) -> None:
    """The rows from the top down, each with its bar and mark; `fill_clear` fills those whose interval leaves out 0."""
    by, look = scale(board), looks(board.matrix.methods, board.baseline)
    names = shown_names(found)
    reach = by * widest([one.interval for one in found.values() if one])
    axes.axvline(0, color=BASELINE, linewidth=1)
    for place, (method, one) in enumerate(found.items()):
        if one is not None:
            drawn = look.get(method, Look(CONTROL))
            draw_difference(axes, method, one, len(found) - 1 - place, by=by, look=drawn, reach=reach)
            if fill_clear and not one.interval.low <= 0 <= one.interval.high and one.interval.n > 1:
                axes.lines[-1].set_markerfacecolor(drawn.colour)
    axes.set_yticks(range(len(found)), [names[method] for method in [*found][::-1]])
    axes.set_ylim(-0.7, len(found) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)


def widest(intervals: Sequence[Interval]) -> float:
    """How far from 0 the figure reaches: to every mean, and to the ends of intervals over seeds enough to mean much."""
    ends = [(i.mean, i.low, i.high) if i.n >= LEAST_BAND else (i.mean,) for i in intervals]
    return 1.05 * max((abs(end) for found in ends for end in found if math.isfinite(end)), default=1.0) or 1.0


def draw_difference(
    axes: Axes, method: str, found: Difference, height: int, *, by: float, look: Look, reach: float
) -> None:
    """One line of the forest: interval and mean; the mark's shape says the verdict, so colour is not needed.

    An interval that leaves the figure ends in an arrow.
    """
    interval = found.interval
    if not math.isnan(interval.low):
        ends = [max(by * interval.low, -reach), min(by * interval.high, reach)]
        belongs(axes.plot(ends, [height, height], color=look.colour, linewidth=2)[0], method)
        for end, mark in zip(ends, "<>", strict=True):
            if abs(end) == reach:
                belongs(axes.plot([end], [height], mark, color=look.colour, markersize=7)[0], method)
    mark, fill = MARKS.get(found.verdict, "o"), look.colour if found.verdict else "white"
    drawn = axes.plot([by * interval.mean], [height], mark, color=look.colour, markerfacecolor=fill, markersize=6)
    belongs(drawn[0], method)
    tip(axes, by * interval.mean, height, f"{method}: {said(found, by)}", method)


def said(found: Difference, by: float) -> str:
    """'+2.3 [-1.0, +5.6], 5 seeds, Holm p .312'."""
    p = "" if math.isnan(found.p_holm) else f", Holm p {probability(found.p_holm)}"
    return f"{ends_text(found.interval, by)}, {found.interval.n} seeds{p}"


def ends_text(interval: Interval, by: float) -> str:
    """'+2.3 [-1.0, +5.6]', without ends where there are none."""
    mean, low, high = (number(by * value, sign=True) for value in (interval.mean, interval.low, interval.high))
    return mean if math.isnan(interval.low) else f"{mean} [{low}, {high}]"


def write_numbers(axes: Axes, board: Board, found: Mapping[str, Difference | None]) -> None:
    """The numbers at the right of the rows."""
    by = scale(board)
    side = axes.secondary_yaxis("right")
    texts = [ends_text(one.interval, by) if one else "" for one in [*found.values()][::-1]]
    side.set_yticks(range(len(found)), texts)
    side.tick_params(length=0, labelsize=7.5, labelcolor=QUIET)
    side.spines["right"].set_visible(False)
