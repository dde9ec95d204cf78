"""The board's figures: differences to the baseline, and score against budget. Readable at 800 pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.colours import BASELINE, CONTROL, colours
from harness.leaderboard.columns import scale, title
from harness.leaderboard.matrix import curve
from harness.leaderboard.model import Board, Row
from harness.leaderboard.statistics import Interval
from harness.leaderboard.trials import FAILURES, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves", "forest", "save_figures"]

Array = NDArray[np.float64]

WIDTH, DPI = 8.0, 100  # 800 pixels
PANELS = (3, 4)  # small panels a row: few methods, many
MANY = 12
LEAST_BAND = 3  # seeds: a t-interval of two says nothing and hides the rest
MARKS = {"better": "^", "worse": "v"}
LONGEST = 30  # characters of a method's name in a figure


def save_figures(board: Board, folder: Path) -> list[Path]:
    """Write forest.png and curves.png; returns them."""
    import matplotlib as mpl

    paths = []
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}):
        for name, draw in (("forest.png", forest), ("curves.png", curves)):
            figure = draw(board)
            figure.savefig(folder / name, dpi=DPI, metadata={"Software": None})
            paths.append(folder / name)
    return paths


def new_figure(height: float) -> Figure:
    """A figure of the common width, without pyplot: it keeps no global state and needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def short(method: str, longest: int = LONGEST) -> str:
    """A method's name that fits beside a figure."""
    return method if len(method) <= longest else method[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def forest(board: Board) -> Figure:
    """The paired difference of every row to the baseline with its simultaneous interval, in the board's order."""
    rows = [row for row in board.rows if row.difference is not None and row.difference.interval.n]
    figure = new_figure(1.4 + 0.3 * max(len(rows), 1))
    axes = figure.subplots()
    by, colour = scale(board), colours(board.matrix.methods, board.baseline)
    reach = by * widest([row.difference.interval for row in rows if row.difference])
    for place, row in enumerate(rows):
        look = colour.get(row.method, CONTROL)
        draw_difference(axes, row, len(rows) - 1 - place, by=by, colour=look, reach=reach)
    axes.axvline(0, color=BASELINE, linewidth=1)
    axes.set_yticks(range(len(rows)), [short(row.method) for row in reversed(rows)])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    unit = " (points)" if by == 100 else ""
    span = f", simultaneous over {board.comparisons} methods" if board.comparisons > 1 else ""
    axes.set_xlabel(f"{title(board)} minus that of {board.baseline}{unit}; 95% intervals{span}")
    state = "provisional: fewer than 5 seeds, no claims" if board.provisional else "filled: better or worse (Holm)"
    axes.set_title(f"{board.suite}: difference to {board.baseline}, paired by seed ({state})", loc="left", fontsize=9)
    axes.grid(axis="x", color="#e0e0e0", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure


def widest(intervals: Sequence[Interval]) -> float:
    """How far from 0 the figure reaches: to every mean, and to the ends of intervals over seeds enough to mean much."""
    ends = [(i.mean, i.low, i.high) if i.n >= LEAST_BAND else (i.mean,) for i in intervals]
    return 1.05 * max((abs(end) for found in ends for end in found), default=1.0) or 1.0


def draw_difference(axes: Axes, row: Row, height: int, *, by: float, colour: str, reach: float) -> None:
    """One line of the forest: interval and mean; the mark's shape says the verdict, so colour is not needed.

    An interval that leaves the figure ends in an arrow.
    """
    assert row.difference is not None
    interval, verdict = row.difference.interval, row.difference.verdict
    if not math.isnan(interval.low):
        ends = [max(by * interval.low, -reach), min(by * interval.high, reach)]
        axes.plot(ends, [height, height], color=colour, linewidth=2)
        for end, mark in zip(ends, "<>", strict=True):
            if abs(end) == reach:
                axes.plot([end], [height], mark, color=colour, markersize=7)
    fill = colour if verdict else "white"
    axes.plot([by * interval.mean], [height], MARKS.get(verdict, "o"), color=colour, markerfacecolor=fill, markersize=6)


def curves(board: Board) -> Figure:
    """Score against budget, a panel a method with the baseline behind it; bands are 95 % t-intervals over seeds."""
    shown = [row.method for row in board.rows if row.method in board.matrix.methods and row.method != board.baseline]
    shown = [method for method in shown if board.matrix.of(method)] or [board.baseline]
    columns = min(PANELS[len(shown) > MANY], len(shown))
    lines = math.ceil(len(shown) / columns)
    figure = new_figure(0.8 + (1.9 if columns <= PANELS[0] else 1.6) * lines)
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    base, by = band(board, board.baseline), scale(board)
    colour = colours(board.matrix.methods, board.baseline)
    for axes, method in zip(panels, shown, strict=False):
        draw_band(axes, base, BASELINE, "--", by)
        if method != board.baseline:
            draw_band(axes, band(board, method), colour[method], "-", by)
        axes.set_title(short(method, 90 // columns), fontsize=9, loc="left")
        axes.grid(color="#e8e8e8", linewidth=0.6)
    for place, axes in enumerate(panels):
        axes.set_visible(place < len(shown))
        axes.tick_params(labelbottom=place + columns >= len(shown))  # the lowest of its column
    unit = " (points)" if by == 100 else ""
    figure.supylabel(f"{board.metric.measure.replace('_at_', '@')}{unit}", fontsize=9)
    currency = next(iter(board.budget), "budget")
    figure.supxlabel(
        f"share of the budget spent ({currency}); dashed: {board.baseline}; bands: 95% over seeds", fontsize=9
    )
    return figure


def band(board: Board, method: str) -> tuple[Array, Array, Array, Array]:
    """Progress, mean, low and high of a method's curve; read at the places of its fullest trial."""
    matrix = board.matrix
    trials = [trial for trial in matrix.of(method) if trial.ended and trial.evaluations]
    if not trials:
        empty = np.zeros(0)
        return empty, empty, empty, empty
    measured = [curve(trial, board.metric, matrix.tasks) for trial in trials]
    grid = max((progress for progress, _ in measured), key=len)
    values = np.stack([on_grid(grid, one, trial, board) for one, trial in zip(measured, trials, strict=True)])
    summary = [statistics.t_interval(column) for column in values.T]
    mean = np.array([item.mean for item in summary])
    low, high = (np.array([getattr(item, end) for item in summary]) for end in ("low", "high"))
    if len(trials) < LEAST_BAND:
        low = high = mean
    return grid, mean, low, high


def on_grid(grid: Array, measured: tuple[Array, Array], trial: Trial, board: Board) -> Array:
    """A trial's curve [E, tasks], reduced over tasks and read at `grid`; a failed one goes on at what it scores."""
    progress, values = measured
    matrix = board.matrix
    reduced = statistics.per_seed(values, matrix.reduce)
    after = float(reduced[-1])
    if trial.status in FAILURES and not board.metric.area:
        after = float(matrix.scores[matrix.row(trial.method), matrix.seeds.index(trial.seed)])
    return np.interp(grid, progress, reduced, right=after)


def draw_band(axes: Axes, shape: Sequence[Array], colour: str, style: str, by: float) -> None:
    """A mean line over its band."""
    x, mean, low, high = shape
    axes.fill_between(x, by * low, by * high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, by * mean, style, color=colour, linewidth=1.6, marker="o", markersize=2.5)
