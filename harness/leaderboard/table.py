"""The board in a terminal: a compact choice of columns that fits its width, or those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.leaderboard.columns import Column, columns, footnotes, number, scale, select, title
from harness.leaderboard.formats import heading
from harness.leaderboard.model import CONTROLS, UNTRAINED, Board

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["as_table", "table_width"]

STYLES = {"better": "green", "worse": "red"}
GAP = 2  # between columns
LEAST = 3  # columns that are never left out
BARE = 5  # columns for which the score gives up its interval
# what is shown while it fits, the most needed first; the score, which is named after the metric, comes second
COMPACT = (
    "method", "", "difference", "verdict", "n", "p", "letters", "failures", "to target", "rank", "waste", "steps",
    "time", "eval error", "P(better)", "p sign", "area", "extra", "spent",
)  # fmt: skip


class as_table:  # noqa: N801 - it is used as a function
    """The board for a terminal: `names` are the columns, see `select`; without them the compact ones that fit."""

    def __init__(self, board: Board, names: str | None = None) -> None:
        self.board = board
        self.names = names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table and its footnotes at the console's width."""
        from rich.table import Table
        from rich.text import Text

        shown = fitting(self.board, options.max_width) if self.names is None else select(self.board, self.names)
        yield Text(heading(self.board), style="bold")
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
        for column in shown:
            table.add_column(column.title, justify="right" if column.numeric else "left", no_wrap=True)
        for row in self.board.rows:
            style = "dim" if row.role in {*CONTROLS, UNTRAINED} else "bold" if row.role == "baseline" else ""
            verdict = row.difference.verdict if row.difference else ""
            table.add_row(*(column.text(row) for column in shown), style=STYLES.get(verdict, style))
        yield table
        for line in footnotes(self.board):
            yield Text(line, style="bold yellow" if line.startswith("WARNING") else "dim")
        left = len(columns(self.board)) - len(shown)
        if self.names is None and left:
            yield Text(f"{left} more columns: --columns all, or --columns with the names that you want.", style="dim")


def fitting(board: Board, width: int) -> list[Column]:
    """The compact columns that say something and fit, in the board's order; if it is narrow, the score's mean only."""
    said = [column for column in columns(board) if any(column.text(row) not in {"-", "0"} for row in board.rows)]
    need = {**{name: i for i, name in enumerate(COMPACT)}, title(board): 1}
    by_need = sorted((c for c in said if c.title in need), key=lambda column: need[column.title])
    if table_width(board, by_need[:BARE]) > width:
        said, by_need = ([mean_only(board, column) for column in some] for some in (said, by_need))
    kept: list[Column] = []
    for column in by_need:
        if len(kept) < LEAST or table_width(board, [*kept, column]) <= width:
            kept.append(column)
    titles = {column.title for column in kept}
    return [column for column in said if column.title in titles]


def mean_only(board: Board, column: Column) -> Column:
    """The score without its interval; any other column as it is."""
    if column.title != title(board):
        return column
    return replace(column, text=lambda row: number(scale(board) * row.score.mean))


def table_width(board: Board, shown: list[Column]) -> int:
    """How many characters a table of these columns takes."""
    return sum(GAP + max(len(c.title), *(len(c.text(row)) for row in board.rows)) for c in shown)
