"""A board as a folder of files."""

from __future__ import annotations

from pathlib import Path

from harness.leaderboard.figures import save_figures
from harness.leaderboard.formats import as_csv, as_json, as_markdown, trials_csv
from harness.leaderboard.model import Board
from harness.leaderboard.page import as_html

__all__ = ["export"]


def export(board: Board, folder: Path) -> list[Path]:
    """Write the board's tables and figures and the raw data behind them; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = save_figures(board, folder)
    texts = {
        "leaderboard.md": as_markdown(board), "leaderboard.csv": as_csv(board), "leaderboard.json": as_json(board),
        "trials.csv": trials_csv(board), "leaderboard.html": as_html(board, figures),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [*(folder / name for name in texts), *figures]
