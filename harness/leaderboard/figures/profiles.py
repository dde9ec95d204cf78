"""Performance profiles: the share of runs and tasks that score above every threshold (Agarwal, arXiv:2108.13264)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.leaderboard import statistics
from harness.leaderboard.colours import looks
from harness.leaderboard.columns import number, scale, title
from harness.leaderboard.figures.canvas import (
    GRID,
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    seeds_text,
    tip,
    titled,
    unit,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.figures.panels import groups
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["performance_profiles"]

TIPS = 8  # places of a profile that a pointer finds


@figure_function
def performance_profiles(board: Board) -> Figure:
    """One falling step line a method; a line further right is a method whose runs score higher."""
    matrix = board.matrix
    drawn = [m for m in matrix.methods if np.isfinite(matrix.final[matrix.row(m)]).any()]
    parts = groups(board, drawn)
    if not parts:
        raise NoDataError("no trial has ended")
    figure = new_figure(0.4 + 1.7 * len(parts))
    panels = figure.subplots(len(parts), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, part in zip(panels, parts, strict=True):
        draw_profiles(axes, board, part)
    figure.supxlabel(f"{title(board)}{unit(board)}", fontsize=9)
    figure.supylabel("share of runs\nand tasks above", fontsize=9)  # two lines: one is longer than a lone panel is high
    tasks = f"{len(matrix.tasks)} task{'s' * (len(matrix.tasks) != 1)}"
    titled(
        figure,
        f"{board.suite}: performance profiles, {seeds_text(board)}, {tasks}",
        "Share of all runs x tasks of a method that score above the threshold; further right is better. No band: so "
        "few runs bound a share loosely. Panels in the board's order.",
    )
    return figure


def draw_profiles(axes: Axes, board: Board, methods: list[str]) -> None:
    """The profiles of a few methods with their legend."""
    matrix, by, look = board.matrix, scale(board), looks(board.matrix.methods, board.baseline)
    names = shown_names(methods, 24)
    values = matrix.final[np.isfinite(matrix.final)]
    margin = 0.03 * float(np.ptp(values)) or 0.5 / by
    start, end = float(values.min()) - margin, float(values.max()) + margin
    start = max(start, 0.0) if values.min() >= 0 else start
    for method in methods:
        mine = np.sort(matrix.final[matrix.row(method)], axis=None)
        mine = mine[np.isfinite(mine)]
        levels = np.concatenate([[start], mine, [end]])
        share = statistics.score_profile(mine, levels)
        drawn = look[method]
        line = axes.step(
            by * levels, share, where="post", color=drawn.colour, linestyle=drawn.style, marker=drawn.marker,
            markersize=4, markevery=max(1, len(mine) // 4), label=names[method], linewidth=1.5,
        )  # fmt: skip
        belongs(line[0], method)
        for i in np.unique(np.linspace(0, len(levels) - 1, TIPS).astype(int)):
            text = f"{method}: {number(100 * share[i], 0)}% score above {number(by * levels[i])}"
            tip(axes, by * levels[i], share[i], text, method)
    axes.set_ylim(-0.02, 1.04)
    axes.grid(color=GRID, linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5, frameon=False, handlelength=2.6)
