"""Training health: a row a method, a column a metric, each cell its course over the budget on the column's scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard.colours import Look, looks
from harness.leaderboard.figures.canvas import (
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    seeds_text,
    tip,
    titled,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.figures.series import LEAST_BAND, Band, metric_band
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["METRICS", "training_health"]

METRICS = {  # metric -> heading; entropy itself is logged only where a stack asks for it
    "entropy": "entropy,\nper token", "surprisal": "entropy,\nsampled", "kl_reference": "KL to the\nstart",
    "clip_share": "clipped\nshare", "length": "length,\ntokens", "zero_variance": "groups of\none reward",
    "grad_norm": "gradient\nnorm",
}  # fmt: skip
WIDE = 20.0  # the largest over the median: beyond, the column is drawn on a logarithmic scale
DECADES = 5.0  # below its top, at most
TAILS = (0.01, 0.99)  # of all means: what one method does once must not flatten all others
FILL = 0.86  # of a row's height
TIPS = 6
BEHIND = "#9a9a9a"


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A column's scale: what its rows' feet and tops stand for."""

    low: float
    high: float
    log: bool = False

    def raised(self, values: Array) -> Array:
        """Heights within a row; what leaves the scale is cut."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = math.log(low), math.log(high), np.log(np.maximum(values, self.low))
        return np.asarray(FILL * np.clip((values - low) / (high - low), 0.0, 1.0))


@figure_function
def training_health(board: Board) -> Figure:
    """Small courses of entropy, divergence, clipping, length, silent groups and gradient over the budget."""
    methods = [row.method for row in board.rows if row.method in board.matrix.methods]
    bands = {name: {m: metric_band(board.matrix.of(m), name) for m in methods} for name in METRICS}
    shown = [name for name in METRICS if any(not band.empty for band in bands[name].values())]
    fewer = any(bands["entropy"][m].empty for m in methods if not bands["surprisal"][m].empty)
    shown = [name for name in shown if name != ("entropy" if fewer else "surprisal")]  # the one that all have
    methods = [m for m in methods if any(not bands[name][m].empty for name in shown)]
    if not shown or not methods:
        raise NoDataError("no trial has logged a training metric")
    figure = new_figure(0.85 + 0.33 * len(methods))
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, shown, strict=True):
        draw_column(axes, board, methods, bands[name], METRICS[name])
    names = shown_names(methods, 26)
    panels[0].set_yticks(range(len(methods)), [names[m] for m in reversed(methods)], va="bottom")
    figure.supxlabel("share of the budget spent; over each column its scale, from a row's foot to its top", fontsize=9)
    titled(
        figure,
        f"{board.suite}: training health over the budget, {seeds_text(board)}",
        f"Lines: mean over seeds in bins; bands: pointwise 95% t-intervals over seeds (none below {LEAST_BAND}). Thin "
        f"grey: {board.baseline}. Empty: not logged. Lines that leave the scale are cut.",
    )
    return figure


def draw_column(axes: Axes, board: Board, methods: Sequence[str], bands: dict[str, Band], heading: str) -> None:
    """One metric: every method's course in its own row."""
    look = looks(board.matrix.methods, board.baseline)
    scale = column_scale([band.mean for band in bands.values()])
    base = bands.get(board.baseline)
    axes.set(xlim=(0, 1), ylim=(-0.15, len(methods) + 0.02), autoscale_on=False)
    for place, method in enumerate(methods):
        foot = len(methods) - 1 - place
        axes.axhline(foot, color="#dddddd", linewidth=0.6, zorder=0)
        if base is not None and not base.empty and method != board.baseline:
            axes.plot(base.x, foot + scale.raised(base.mean), color=BEHIND, linewidth=0.8, zorder=1)
        if not bands[method].empty:
            draw_course(axes, bands[method], scale, foot=foot, look=look[method], method=method)
    axes.set_title(f"{heading}\n{short(scale.low)} to {short(scale.high)}{', log' * scale.log}", fontsize=8, pad=4)
    axes.set_xticks([0, 1], ["0", "1"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def draw_course(axes: Axes, band: Band, scale: Scale, *, foot: int, look: Look, method: str) -> None:
    """A line with its band, in its row."""
    if np.isfinite(band.low).any():
        floor, roof = (foot + scale.raised(values) for values in (band.low, band.high))
        belongs(axes.fill_between(band.x, floor, roof, color=look.colour, alpha=0.2, linewidth=0), method)
    heights = foot + scale.raised(band.mean)
    mark: dict[str, Any] = {"marker": look.marker, "markersize": 4} if len(band.x) == 1 else {}
    belongs(axes.plot(band.x, heights, color=look.colour, linewidth=1.4, **mark)[0], method)
    for i in np.unique(np.linspace(0, len(band.x) - 1, TIPS).astype(int)):
        tip(axes, band.x[i], heights[i], f"{method}: {short(band.mean[i])} at {band.x[i]:.2f} of the budget", method)


def column_scale(means: Sequence[Array]) -> Scale:
    """The scale of a metric over all methods."""
    values = np.concatenate(list(means))
    values = values[np.isfinite(values)]
    if not values.size:
        return Scale(0.0, 1.0)
    low, high = (float(end) for end in np.quantile(values, TAILS))
    middle = float(np.median(values))
    if low >= 0 and high > WIDE * middle:
        positive = values[values > 0]
        least = float(np.quantile(positive, TAILS[0])) if positive.size else high
        return Scale(max(least, high / 10**DECADES), high, log=True) if least < high else Scale(0.0, high or 1.0)
    if 0 <= low < 0.5 * high:
        low = 0.0  # a share or a norm is read from 0
    if high > low:
        return Scale(low, high)
    return Scale(min(0.0, 2 * low), max(0.0, 2 * low)) if low else Scale(0.0, 1.0)


def short(value: float) -> str:
    """Two digits that say something."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"
