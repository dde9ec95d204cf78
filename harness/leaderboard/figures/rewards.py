"""Training reward against held-out score: reward that grows alone was learnt by heart, or cheated for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.colours import looks
from harness.leaderboard.columns import number, scale
from harness.leaderboard.figures.canvas import (
    GRID,
    QUIET,
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
from harness.leaderboard.figures.series import reduced_curve, trial_series
from harness.leaderboard.model import Board
from harness.leaderboard.trials import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Gains", "gains", "reward_gap"]

Array = NDArray[np.float64]

PART = 0.1  # of a trial's steps at either end
KINDS = {"reward": ("D", "training reward"), "correct": ("s", "correct in training"), "held_out": ("o", "held out")}


@dataclass(frozen=True)
class Gains:
    """From the first tenth of the steps to the last, a number a seed [S]; NaN where a trial logged none."""

    reward: Array
    correct: Array
    held_out: Array

    @property
    def gap(self) -> Array:
        """What the reward gained and the held-out score did not."""
        return self.reward - self.held_out


@figure_function
def reward_gap(board: Board) -> Figure:
    """Left what training and held-out scores gained; right the gap with its interval over seeds."""
    if scale(board) != 100:
        raise NoDataError(f"{board.metric.measure} is not a share: it has no gap to a reward")
    rows = [row.method for row in board.rows if row.method in board.matrix.methods]
    found = {method: gains(board, method) for method in rows}
    found = {method: one for method, one in found.items() if np.isfinite(one.gap).any()}
    if not found:
        raise NoDataError("no trial has both a training reward and two evaluations")
    figure = new_figure(0.85 + 0.22 * len(found))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    look, names = looks(board.matrix.methods, board.baseline), shown_names(found)
    for place, (method, one) in enumerate(found.items()):
        height, colour = len(found) - 1 - place, look[method].colour
        draw_gains(left, method, one, height, colour)
        draw_gap(right, method, one.gap, height, colour)
    left.set_yticks(range(len(found)), [names[method] for method in reversed(found)])
    left.set_ylim(-0.7, len(found) - 0.3)
    small_title(left, "gained from the first tenth of the steps to the last (x 100)")
    small_title(right, "gap: reward less held out")
    for axes in (left, right):
        axes.axvline(0, color="black", linewidth=1)
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        axes.tick_params(axis="y", length=0)
    add_legend(figure, found)
    titled(
        figure,
        f"{board.suite}: training reward against held-out {measure_text(board)}, {seeds_text(board)}",
        "Marks: mean over seeds; right: 95% t-intervals over seeds, each for itself. A gap far right of 0: the reward "
        "grew without the skill; left of 0: it holds more than being right. Rows in the board's order.",
    )
    return figure


def gains(board: Board, method: str) -> Gains:
    """What each ended trial of a method gained."""
    trials = [trial for trial in board.matrix.of(method) if trial.ended]
    held_out = [ends(reduced_curve(board, trial)[1]) for trial in trials]
    reward, correct = ([metric_gain(trial, name) for trial in trials] for name in ("reward", "correct"))
    return Gains(*(np.array(values, dtype=float) for values in (reward, correct, held_out)))


def ends(values: Array) -> float:
    """Last less first; NaN below two."""
    return float(values[-1] - values[0]) if values.size > 1 else math.nan


def metric_gain(trial: Trial, name: str) -> float:
    """A training metric's mean over the last tenth of the steps less that over the first."""
    _, values = trial_series(trial, name)
    size = max(1, round(PART * values.size))
    return float(values[-size:].mean() - values[:size].mean()) if values.size > 1 else math.nan


def known_mean(values: Array) -> float:
    """The mean over the seeds that have a number."""
    return float(statistics.moments(values)[1])


def draw_gains(axes: Axes, method: str, one: Gains, height: int, colour: str) -> None:
    """The gains of a method on one line, joined."""
    means = {kind: 100 * known_mean(getattr(one, kind)) for kind in KINDS}
    known = [value for value in means.values() if math.isfinite(value)]
    belongs(axes.plot([min(known), max(known)], [height] * 2, color=colour, linewidth=1, alpha=0.6)[0], method)
    for kind, value in means.items():
        fill = colour if kind == "held_out" else "white"
        mark, label = KINDS[kind]
        belongs(axes.plot([value], [height], mark, color=colour, markerfacecolor=fill, markersize=5)[0], method)
        tip(axes, value, height, f"{method}: {label} {number(value, sign=True)}", method)


def draw_gap(axes: Axes, method: str, gap: Array, height: int, colour: str) -> None:
    """The gap with its interval."""
    interval = statistics.t_interval(100 * gap)
    if interval.n > 2:
        belongs(axes.plot([interval.low, interval.high], [height] * 2, color=colour, linewidth=2)[0], method)
    belongs(axes.plot([interval.mean], [height], "o", color=colour, markersize=5)[0], method)
    low, high = (number(end, sign=True) for end in (interval.low, interval.high))
    tip(axes, interval.mean, height, f"{method}: gap {number(interval.mean, sign=True)} [{low}, {high}]", method)


def add_legend(figure: Figure, found: dict[str, Gains]) -> None:
    """What the marks are, of the kinds that exist."""
    from matplotlib.lines import Line2D

    there = [kind for kind in KINDS if any(np.isfinite(getattr(one, kind)).any() for one in found.values())]
    handles = [
        Line2D([], [], color=QUIET, linestyle="", marker=KINDS[kind][0], label=KINDS[kind][1],
               markerfacecolor=QUIET if kind == "held_out" else "white")
        for kind in there
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)
