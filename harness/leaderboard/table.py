"""The board in a terminal: a compact choice of columns that fits its width, or those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.leaderboard.cells import name
from harness.leaderboard.columns import Column, columns, footnotes, number, scale, select, title
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.formats import heading
from harness.leaderboard.model import CONTROLS, UNTRAINED, Board

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["as_table", "table_width"]

STYLES = {"better": "green", "worse": "red"}
GAP = 2  # between columns
LEAST = 3  # columns that are never left out
BARE = 5  # columns for which the score gives up its interval
NAMED = 4  # columns for which names are cut: method, score, difference and verdict
SHORTEST = 16  # characters of a name, whatever the width
# what is shown while it fits, the most needed first; the score, which is named after the metric, comes second
COMPACT = (
    "method", "", "difference", "verdict", "n", "p", "letters", "failures", "to target", "rank", "waste", "steps",
    "time", "length", "eval error", "P(better)", "p sign", "area", "extra", "spent",
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
        if any(shown[0].text(row) != name(row) for row in self.board.rows):
            yield Text("Long names are cut: --columns all has them whole.", style="dim")
        left = len(columns(self.board)) - len(shown)
        if self.names is None and left:
            yield Text(f"{left} more columns: --columns all, or --columns with the names that you want.", style="dim")


def fitting(board: Board, width: int) -> list[Column]:
    """The compact columns that say something and fit, in the board's order.

    If it is narrow, the score has its mean only, and long names are cut.
    """
    said = [column for column in columns(board) if any(column.text(row) not in {"-", "0"} for row in board.rows)]
    if table_width(board, by_need(board, said)[:BARE]) > width:
        said = [mean_only(board, column) for column in said]
    room = width - GAP - table_width(board, by_need(board, said)[1:NAMED])
    said = [short_names(board, column, room) for column in said]
    kept: list[Column] = []
    for column in by_need(board, said):
        if len(kept) < LEAST or table_width(board, [*kept, column]) <= width:
            kept.append(column)
    titles = {column.title for column in kept}
    return [column for column in said if column.title in titles]


def by_need(board: Board, shown: list[Column]) -> list[Column]:
    """The compact ones of the columns, the most needed first."""
    need = {**{heading: i for i, heading in enumerate(COMPACT)}, title(board): 1}
    return sorted((c for c in shown if c.title in need), key=lambda column: need[column.title])


def short_names(board: Board, column: Column, room: int) -> Column:
    """The methods with their names cut so that they and their marks fit, no two alike; any other column as it is."""
    if column.title != "method" or max(len(column.text(row)) for row in board.rows) <= room:
        return column
    marks = max(len(column.text(row)) - len(row.method) for row in board.rows)
    short = shown_names([row.method for row in board.rows], max(room - marks, SHORTEST))
    return replace(column, text=lambda row: name(replace(row, method=short[row.method])))


def mean_only(board: Board, column: Column) -> Column:
    """The score without its interval; any other column as it is."""
    if column.title != title(board):
        return column
    return replace(column, text=lambda row: number(scale(board) * row.score.mean))


def table_width(board: Board, shown: list[Column]) -> int:
    """How many characters a table of these columns takes."""
    return sum(GAP + max(len(c.title), *(len(c.text(row)) for row in board.rows)) for c in shown)
