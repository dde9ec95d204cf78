"""Budget to target, drawn: the share of seeds that are not there yet, misses censored at the budget's end."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.colours import looks
from harness.leaderboard.columns import number, scale
from harness.leaderboard.costs import limit
from harness.leaderboard.figures.canvas import (
    GRID,
    NoDataError,
    belongs,
    figure_function,
    measure_text,
    new_figure,
    seeds_text,
    small_title,
    tip,
    titled,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.figures.panels import groups
from harness.leaderboard.model import Board
from harness.leaderboard.targets import choose_target, over_seeds, spent_to

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SHARES", "survival", "target_levels", "times_to"]

Array = NDArray[np.float64]

SHARES = ("50%", "80%")  # of the baseline's gain, beside the target of the board
APART = 0.014  # lines of so few seeds lie on each other: they are set apart by this much


@figure_function
def survival(board: Board) -> Figure:
    """Kaplan-Meier curves to parts of the baseline's gain, and to the board's own target."""
    levels = target_levels(board)
    drawn = [method for method in board.matrix.methods if times_to(board, method, next(iter(levels))).size]
    parts = groups(board, drawn)
    figure = new_figure(0.4 + 1.9 * len(parts))
    panels = figure.subplots(len(parts), len(levels), sharex=True, sharey=True, squeeze=False)
    for line, part in zip(panels, parts, strict=True):
        for axes, level in zip(line, levels, strict=True):
            draw_survival(axes, board, part, level)
        line[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5, frameon=False, handlelength=2.6)
    by = scale(board)
    for axes, (level, rule) in zip(panels[0], levels.items(), strict=True):
        said = f"{number(by * level)}{' points' if by == 100 else ''}: {rule}"
        small_title(axes, textwrap.fill(said, 90 // len(levels)))
    figure.supxlabel(f"share of the budget spent ({next(iter(board.budget), 'budget')})", fontsize=9)
    figure.supylabel("share of seeds\nnot there yet", fontsize=9)  # two lines: one is longer than a lone panel is high
    titled(
        figure,
        f"{board.suite}: budget to reach a target of {measure_text(board)}, {seeds_text(board)}",
        "Kaplan-Meier: a step down is a seed that reaches the target, a | at the right end seeds that missed it "
        "(failed trials too). No band. Lines are set apart a little where they would hide each other.",
    )
    return figure


def target_levels(board: Board) -> dict[float, str]:
    """Score to reach -> what it is, rising; NoDataError where the baseline gains nothing."""
    if board.target is None:
        raise NoDataError(f"{board.metric.measure} has no target: more of it is not better, or nothing has ended")
    asked = [*(choose_target(share, board.matrix, board.metric, board.baseline) for share in SHARES), board.target]
    found = {target.score: target.rule for target in asked if target is not None}
    start, end = over_seeds(board.matrix, board.baseline)
    if not found or not end > start:
        raise NoDataError("the baseline gains nothing that could set a target")
    return dict(sorted(found.items()))


def times_to(board: Board, method: str, level: float) -> Array:
    """The share of the budget at which each ended trial reaches a score, [S]; infinite for a miss and for a failure."""
    trials = [trial for trial in board.matrix.of(method) if trial.ended]
    return np.array([spent_to(board.matrix, trial, level) / limit(trial) for trial in trials], dtype=float)


def draw_survival(axes: Axes, board: Board, methods: list[str], level: float) -> None:
    """The curves of a few methods."""
    look, names = looks(board.matrix.methods, board.baseline), shown_names(methods, 25)
    for place, method in enumerate(methods):
        times = times_to(board, method, level)
        reached = np.isfinite(times)
        found = statistics.kaplan_meier(np.minimum(times, 1.0), reached)
        x = np.concatenate([[0.0], found.times, [1.0]])
        share = np.concatenate([[1.0], found.share, found.share[-1:] if found.share.size else [1.0]])
        drawn, shift = look[method], APART * (place - (len(methods) - 1) / 2)
        line = axes.step(
            x, share + shift, where="post", color=drawn.colour, linestyle=drawn.style, marker=drawn.marker,
            markersize=3.5, markevery=slice(1, max(len(x) - 1, 2)), label=names[method], linewidth=1.5,
        )  # fmt: skip
        belongs(line[0], method)
        if not reached.all():
            belongs(axes.plot([1.0], [share[-1] + shift], "|", color=drawn.colour, markersize=8)[0], method)
        text = f"{method}: {int(reached.sum())} of {len(times)} seeds reach {number(scale(board) * level)}"
        for where, height in zip(x, share + shift, strict=True):
            tip(axes, where, height, text + (f", the first at {found.times[0]:.2f}" if reached.any() else ""), method)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(-0.08, 1.08)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_yticks([0, 0.5, 1])
    axes.grid(color=GRID, linewidth=0.6)
