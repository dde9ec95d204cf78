"""The board as one HTML file: no network, sortable by a click on a heading, light or dark as the reader's system is."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from harness.leaderboard.columns import Column, columns, footnotes
from harness.leaderboard.formats import heading
from harness.leaderboard.model import Board, Row

__all__ = ["as_html"]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --quiet: #777; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th.text, td.text { text-align: left; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
tr.baseline { font-weight: 600; }
tr.control { color: var(--quiet); }
.warning { border-left: .3rem solid #d55e00; padding: .4rem .8rem; font-weight: 600; }
.note { color: var(--quiet); }
img { max-width: 100%; background: white; border-radius: .3rem; margin-top: 1rem; display: block; }
dt { font-weight: 600; } dd { margin: 0 0 .3rem 1.2rem; color: var(--quiet); }
"""

SCRIPT = """
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
  const place = [...head.parentElement.children].indexOf(head);
  const up = head.getAttribute("aria-sort") === "descending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => row.children[place].dataset.value;
  const rows = [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = head.classList.contains("text") ? x.localeCompare(y) : Number(x) - Number(y);
    return up ? order : -order;
  });
  body.append(...rows);
});
"""


def as_html(board: Board, figures: Sequence[Path] = ()) -> str:
    """The page; `figures` are embedded."""
    shown = columns(board)
    notes = "".join(
        f'<p class="{"warning" if line.startswith("WARNING") else "note"}">{escape(line)}</p>\n'
        for line in footnotes(board)
    )
    meanings = "".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>\n" for c in shown)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(board.suite)}: leaderboard</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(heading(board))}</h1>\n<p>{escape(board.question)}</p>\n{notes}"
        f'<div class="scroll"><table>\n<thead><tr>{"".join(map(head_cell, shown))}</tr></thead>\n<tbody>\n'
        f"{''.join(body_row(row, shown) for row in board.rows)}</tbody>\n</table></div>\n"
        f"{''.join(map(picture, figures))}<h2>Columns</h2>\n<dl>\n{meanings}</dl>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def kind(column: Column) -> str:
    """The class of a column's cells."""
    return "" if column.numeric else ' class="text"'


def head_cell(column: Column) -> str:
    """A heading that sorts, with the column's meaning as its tip."""
    sort = ' aria-sort="descending"' if column.title == "difference" else ""
    return f'<th{kind(column)}{sort} title="{escape(column.meaning)}"><button>{escape(column.title)}</button></th>'


def body_row(row: Row, shown: Sequence[Column]) -> str:
    """A row of the table."""
    role = {"baseline": "baseline", "method": "method"}.get(row.role, "control")
    cells = "".join(
        f'<td{kind(column)} data-value="{escape(sortable(column, row))}">{escape(column.text(row))}</td>'
        for column in shown
    )
    return f'<tr class="{role}">{cells}</tr>\n'


def sortable(column: Column, row: Row) -> str:
    """What a cell sorts by; empty values go last either way."""
    value = column.value(row)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def picture(path: Path) -> str:
    """A figure inside the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(path.stem)}" src="data:image/png;base64,{data}">\n'
