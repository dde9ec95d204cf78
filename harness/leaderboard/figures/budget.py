"""Score against budget: a small panel a method, the baseline behind it in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.leaderboard.colours import Look, looks
from harness.leaderboard.columns import number, scale
from harness.leaderboard.figures.canvas import (
    BAND,
    GRID,
    WIDTH,
    NoDataError,
    belongs,
    figure_function,
    measure_text,
    new_figure,
    seeds_text,
    small_title,
    tip,
    titled,
    unit,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.figures.series import LEAST_BAND, Band, score_band
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves", "draw_band", "generated_curves", "trained_curves"]

PANELS = (3, 4)  # small panels a row: few methods, many
MANY = 12
HEIGHTS = (1.5, 1.2)  # inches of a panel
LABELS = {"share": "share of the budget spent", "generated": "tokens generated", "trained": "tokens trained"}
BEHIND = Look("#000000", "--", "")


@figure_function
def curves(board: Board) -> Figure:
    """Against the share of the budget spent, in the suite's currency."""
    return draw_curves(board, "share")


@figure_function
def generated_curves(board: Board) -> Figure:
    """Against the tokens sampled for training, those thrown away included."""
    return draw_curves(board, "generated")


@figure_function
def trained_curves(board: Board) -> Figure:
    """Against the tokens that entered a loss, every epoch counted."""
    return draw_curves(board, "trained")


def draw_curves(board: Board, against: str) -> Figure:
    """The panels in the board's order."""
    bands = {row.method: score_band(board, row.method, against) for row in board.rows}
    drawn = [method for method, band in bands.items() if not band.empty]
    shown = [method for method in drawn if method != board.baseline] or drawn
    if not shown:
        raise NoDataError("no trial has ended" if against == "share" else f"no trial counts its tokens {against}")
    many = len(shown) > MANY
    columns = min(PANELS[many], len(shown))
    lines = math.ceil(len(shown) / columns)
    figure = new_figure(0.5 + HEIGHTS[many] * lines, layout=None)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    look, names = looks(board.matrix.methods, board.baseline), shown_names(shown, 100 // columns)
    base = bands.get(board.baseline)
    ends = limits([bands[method] for method in drawn], scale(board), against)
    for axes, method in zip(panels, shown, strict=False):
        axes.set(**ends, autoscale_on=False)
        if method != board.baseline and base is not None:
            draw_band(axes, board, base, BEHIND, board.baseline)
        draw_band(axes, board, bands[method], look[method], method)
        small_title(axes, names[method])
        axes.grid(color=GRID, linewidth=0.6)
    finish(panels, columns, len(shown), against)
    side = figure.supylabel(f"{measure_text(board)}{unit(board)}", fontsize=9)
    currency = next(iter(board.budget), "budget")
    foot = figure.supxlabel(LABELS[against] + (f" ({currency})" if against == "share" else ""), fontsize=9)
    taken = titled(
        figure,
        f"{board.suite}: {measure_text(board)} against {LABELS[against].removeprefix('share of the ')}, "
        f"{seeds_text(board)}",
        f"Lines: mean over seeds; bands: pointwise 95% t-intervals over seeds (none below {LEAST_BAND}). "
        f"Dashed black: {board.baseline}. Panels in the board's order.",
    )
    place_panels(figure, taken, lines, columns)
    foot.set_y(0.06 / figure.get_figheight())
    side.set_x(0.06 / WIDTH)
    return figure


def place_panels(figure: Figure, taken: float, lines: int, columns: int) -> None:
    """Panels at fixed inches: their labels are known, and searching room for so many takes seconds."""
    height, width = figure.get_figheight(), WIDTH
    gap_x, gap_y = 0.14, 0.3
    left, right, bottom, top = 0.55, 0.08, 0.45, taken + 0.2
    inner_x, inner_y = width - left - right, height - top - bottom
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, bottom=bottom / height, top=1 - top / height,
        wspace=gap_x / ((inner_x - gap_x * (columns - 1)) / columns),
        hspace=gap_y / ((inner_y - gap_y * (lines - 1)) / lines),
    )  # fmt: skip


def limits(bands: Sequence[Band], by: float, against: str) -> dict[str, tuple[float, float]]:
    """Common limits of the panels: shared axes would find them again at every line."""
    known = [values for band in bands for values in (band.mean, band.low, band.high)]
    y = by * np.concatenate(known)
    x = np.concatenate([band.x for band in bands])
    low, high = float(np.nanmin(y)), float(np.nanmax(y))
    margin = 0.05 * (high - low) or 1.0
    end = 1.0 if against == "share" else float(np.nanmax(x)) or 1.0
    return {"xlim": (-0.03 * end, 1.04 * end), "ylim": (low - margin, high + margin)}


def finish(panels: np.ndarray[tuple[int], np.dtype[np.object_]], columns: int, shown: int, against: str) -> None:
    """Hide empty panels; labels at the left and below the lowest of each column; short numbers for tokens."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for place, axes in enumerate(panels):
        axes.set_visible(place < shown)
        axes.tick_params(labelbottom=place + columns >= shown, labelleft=place % columns == 0, length=2)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if against == "share":
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        else:
            axes.xaxis.set_major_locator(MaxNLocator(3))
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def draw_band(axes: Axes, board: Board, band: Band, look: Look, method: str) -> None:
    """A mean line over its band."""
    by = scale(board)
    if np.isfinite(band.low).any():
        shade = axes.fill_between(band.x, by * band.low, by * band.high, color=look.colour, alpha=BAND, linewidth=0)
        belongs(shade, method)
    style = look.style if look is BEHIND else "-"
    line = axes.plot(band.x, by * band.mean, style, color=look.colour, marker=look.marker, markersize=3.5)
    belongs(line[0], method)
    if look is BEHIND:
        line[0].set(linewidth=1.1)
        return
    for x, mean, low, high in zip(band.x, band.mean, band.low, band.high, strict=True):
        ends = "" if math.isnan(low) else f" [{number(by * low)}, {number(by * high)}]"
        tip(axes, x, by * mean, f"{method}: {number(by * mean)}{ends} at {x:.4g}, {band.n} seeds", method)
