"""A board as a folder of files; `harness leaderboard FOLDER` makes it again from the raw data among them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harness import yaml12
from harness.leaderboard.figures import save_figures
from harness.leaderboard.formats import as_csv, as_json, as_markdown, trials_csv
from harness.leaderboard.latex import as_latex
from harness.leaderboard.model import Board
from harness.leaderboard.page import as_html
from harness.leaderboard.scores import items_table, metrics_table, origins, public_suite, scores_table

__all__ = ["export"]


def export(board: Board, folder: Path, also: Sequence[str] = ()) -> list[Path]:
    """Write the board's tables and figures and the raw data behind them; returns the files.

    `also` names formats of figures beside PNG and the interactive page: pdf, svg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = save_figures(board, folder)
    figures += save_figures(board, folder, also) if also else []
    texts = {
        "leaderboard.md": as_markdown(board), "leaderboard.csv": as_csv(board), "leaderboard.json": as_json(board),
        "leaderboard.tex": as_latex(board), "leaderboard.html": as_html(board, figures),
        "trials.csv": trials_csv(board),
        "provenance.json": json.dumps(origins(board), indent=1) + "\n",
        **({"suite.yaml": yaml12.dump(public_suite(board.settings))} if board.settings else {}),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    tables = {
        "scores.parquet": scores_table(board), "items.parquet": items_table(board),
        "metrics.parquet": metrics_table(board),
    }  # fmt: skip
    for name, table in tables.items():
        table.to_parquet(folder / name, index=False)
    return [*(folder / name for name in (*texts, *tables)), *figures]
