"""Figures as files: PNG for the page and MLflow, PDF and SVG for papers, and one interactive page of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError, nearest
from harness.leaderboard.figures.budget import curves, generated_curves, trained_curves
from harness.leaderboard.figures.canvas import DPI, NoDataError
from harness.leaderboard.figures.charges import cost_breakdown
from harness.leaderboard.figures.differences import forest, task_forest
from harness.leaderboard.figures.interactive import interactive_page
from harness.leaderboard.figures.profiles import performance_profiles
from harness.leaderboard.figures.rewards import reward_gap
from harness.leaderboard.figures.targets import survival
from harness.leaderboard.figures.training import training_health
from harness.leaderboard.figures.wins import win_matrix
from harness.leaderboard.model import Board

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "FORMATS", "PAGE", "drawn", "figure_bytes", "save_figures", "write_figure"]

FIGURES: dict[str, Callable[[Board], Figure]] = {  # in the order that a reader asks
    "forest": forest, "forest-tasks": task_forest, "curves": curves, "curves-generated": generated_curves,
    "curves-trained": trained_curves, "profiles": performance_profiles, "wins": win_matrix, "targets": survival,
    "costs": cost_breakdown, "health": training_health, "reward-gap": reward_gap,
}  # fmt: skip
FORMATS = ("png", "pdf", "svg", "html")
PAGE = "figures.html"
DATELESS: dict[str, dict[str, None]] = {
    "png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "svg": {"Date": None},
}  # fmt: skip


def drawn(board: Board) -> Iterator[tuple[str, Figure]]:
    """Name and figure of every figure that the board has data for."""
    for name, draw in FIGURES.items():
        try:
            figure = draw(board)
        except NoDataError:
            continue
        yield name, figure


def save_figures(board: Board, folder: Path, formats: Sequence[str] = ("png", "html")) -> list[Path]:
    """Write every figure that the board has data for, in each format; returns the files.

    `html` is one page of all, `figures.html`. Raises UsageError for a format that is not known.
    """
    for form in formats:
        if form not in FORMATS:
            raise UsageError(f"figures as {form}: write one of {', '.join(FORMATS)}.{nearest(form, FORMATS)}")
    figures = dict(drawn(board))
    paths = []
    for name, figure in figures.items():
        for form in formats:
            if form != "html":
                paths.append(folder / f"{name}.{form}")
                paths[-1].write_bytes(figure_bytes(figure, form))
    if "html" in formats and figures:
        pictures = {name: figure_bytes(figure, "svg", salt=name).decode() for name, figure in figures.items()}
        paths.append(folder / PAGE)
        paths[-1].write_text(interactive_page(board, figures, pictures), encoding="utf-8")
    return paths


def write_figure(figure: Figure, path: Path) -> Path:
    """Write one figure in the format that the file's ending names: png, pdf or svg; returns the file."""
    form = path.suffix.removeprefix(".")
    if form not in DATELESS:
        raise UsageError(f"{path}: a figure is written as one of {', '.join(DATELESS)}.{nearest(form, DATELESS)}")
    path.write_bytes(figure_bytes(figure, form))
    return path


def figure_bytes(figure: Figure, form: str, salt: str = "0") -> bytes:
    """A figure in a format, the same bytes every time; a PDF embeds its fonts as TrueType."""
    import matplotlib as mpl

    settings: Any = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": salt}
    with mpl.rc_context(settings), BytesIO() as file:
        figure.savefig(file, format=form, dpi=DPI, metadata=DATELESS[form])
        figure.set_layout_engine("none")  # found once, it stays: the next format is drawn in half the time
        return file.getvalue()
