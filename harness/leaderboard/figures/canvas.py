"""What all figures share: width, fonts, titles, scales, and what a pointer is told at a place in them.

matplotlib is imported when the first figure is drawn, and pyplot never: it keeps global state and may want a display.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec
from weakref import WeakKeyDictionary

from harness.errors import UsageError
from harness.leaderboard.columns import scale
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BAND", "DPI", "GRID", "QUIET", "WIDTH", "NoDataError", "Tip", "belongs", "figure_function", "measure_text",
    "new_figure", "seeds_text", "small_title", "tip", "tips", "titled", "unit",
]  # fmt: skip

P = ParamSpec("P")

WIDTH, DPI = 8.0, 100  # 800 pixels
QUIET, GRID, BAND = "#555555", "#e4e4e4", 0.16
SETTINGS: Any = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 8,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#444444", "axes.axisbelow": True, "lines.linewidth": 1.6, "figure.facecolor": "white",
    "hatch.linewidth": 0.6,
}  # fmt: skip
LINE, SMALL_LINE, TITLE_CHARACTERS, NOTE_CHARACTERS = 0.21, 0.165, 94, 126


class NoDataError(UsageError):
    """The board holds nothing that this figure could show."""


@dataclass(frozen=True)
class Tip:
    """What a pointer is told near a place of a figure, and the method that lights up with it."""

    axes: Axes
    x: float
    y: float
    text: str
    method: str


_TIPS: WeakKeyDictionary[Figure, list[Tip]] = WeakKeyDictionary()


def figure_function(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """A function that draws a figure, always with our fonts and lines, whatever the caller has set."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        import matplotlib as mpl

        with mpl.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return drawn


def new_figure(height: float, layout: str | None = "constrained") -> Figure:
    """An empty figure of the common width; without a layout its panels are placed by hand."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout=layout)  # type: ignore[arg-type]
    FigureCanvasAgg(figure)
    return figure


def titled(figure: Figure, title: str, *notes: str) -> float:
    """Write the title and the notes under it, wrapped, at the top left; returns the inches that the figure grew by."""
    head = textwrap.wrap(title, TITLE_CHARACTERS)
    small = [line for note in notes if note for line in textwrap.wrap(note, NOTE_CHARACTERS)]
    taken = 0.06 + LINE * len(head) + SMALL_LINE * len(small) + 0.06
    height = figure.get_figheight() + taken
    figure.set_figheight(height)
    down = 0.06
    for line in head:
        figure.text(0.01, 1 - down / height, line, va="top", fontsize=10.5, fontweight="bold")
        down += LINE
    for line in small:
        figure.text(0.01, 1 - down / height, line, va="top", fontsize=8.5, color=QUIET)
        down += SMALL_LINE
    engine: Any = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.0, 0.0, 1.0, 1 - taken / height))
    return taken


def small_title(axes: Axes, text: str) -> None:
    """A panel's own heading."""
    axes.set_title(text, loc="left", fontsize=8.5, pad=3)


def belongs(artist: Any, method: str) -> Any:
    """Mark an artist as a method's, so that the interactive page can light it up; returns it."""
    artist.set_gid(f"method:{method}")
    return artist


def tip(axes: Axes, x: float, y: float, text: str, method: str = "") -> None:
    """Tell a pointer near (x, y), in the axes' data, a line of text."""
    figure = axes.get_figure()
    if figure is not None and math.isfinite(x) and math.isfinite(y):
        _TIPS.setdefault(figure, []).append(Tip(axes, float(x), float(y), text, method))  # type: ignore[arg-type]


def tips(figure: Figure) -> Sequence[Tip]:
    """The tips of a figure."""
    return tuple(_TIPS.get(figure, ()))


def unit(board: Board) -> str:
    """' (points)' for measures that are shares, shown times 100, else ''."""
    return " (points)" if scale(board) == 100 else ""


def measure_text(board: Board) -> str:
    """What the metric measures, for an axis: 'pass@1', 'pass@1 on math'."""
    named = board.metric.measure.replace("_at_", "@").replace("_", " ")
    return named + (f" on {board.metric.task}" if board.metric.task else "")


def seeds_text(board: Board) -> str:
    """'5 seeds', or '2 to 5 of 5 seeds' while trials are missing, with the failures among them."""
    shown = [row for row in board.rows if row.method in board.matrix.methods]
    counted = [row.n for row in shown] or [0]
    planned = len(board.matrix.seeds)
    least, most = min(counted), max(counted)
    text = f"{planned} seed{'s' * (planned != 1)}"
    if least != planned:
        text = f"{least} of {text}" if least == most else f"{least} to {most} of {text}"
    failed = sum(row.cost.failed for row in shown if row.cost)
    return text + (f", {failed} failed trial{'s' * (failed != 1)} included" if failed else "")
