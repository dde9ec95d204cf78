"""The board as one HTML file: no network, sorted by click and keyboard, light or dark, readable on a phone."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from harness.leaderboard.columns import Column, columns, footnotes, title
from harness.leaderboard.formats import heading
from harness.leaderboard.model import Board, Row

__all__ = ["as_html"]

MAIN = ("method", "n", "difference", "verdict", "p", "rank", "waste", "time", "failures")  # tasks and score besides
MARKS = {
    "baseline": "what the others are compared with",
    "control": "keeps the board honest; never a claim",
    "experimental": "not yet checked against its paper",
    "inert": "its clip never took a token's gradient away here",
    "unweighed": "trained on reward columns that the suite weighs 0",
}
ROLES = {"baseline": "baseline", "method": ""}
INTERACTIVE = "figures.html"
LOUD = ("WARNING", "Provisional")
NO_LINKS: Mapping[str, str] = MappingProxyType({})


def as_html(board: Board, figures: Sequence[Path] = (), links: Mapping[str, str] = NO_LINKS) -> str:
    """The page; PNG files among `figures` are embedded, `links` lead from methods to their runs."""
    shown = columns(board)
    pictures = [path for path in figures if path.suffix == ".png"]
    lines = footnotes(board)
    return PAGE.format(
        title=escape(f"{board.suite}: leaderboard"), style=asset("page.css"), script=asset("page.js"),
        question=escape(board.question), about=escape(heading(board)),
        warnings=warnings([line for line in lines if line.startswith(LOUD)]),
        notes=bullets([line for line in lines if not line.startswith(LOUD)]),
        heads="".join(head_cell(column, main(board, column)) for column in shown),
        rows="".join(body_row(row, shown, board, links) for row in board.rows),
        figures=gallery(pictures, any(path.name == INTERACTIVE for path in figures)),
        meanings="".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>\n" for c in shown),
        marks="".join(f"<dt>{mark}</dt><dd>{escape(meaning)}</dd>\n" for mark, meaning in MARKS.items()),
    )  # fmt: skip


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{title}</h1><button id="theme" type="button" hidden>Dark</button></header>
<p>{question}</p>
<p class="quiet">{about}</p>
{warnings}<div class="tools" hidden>
<input id="find" type="search" placeholder="Find a method" aria-label="Find a method">
<label><input id="every" type="checkbox"> all columns</label>
<span id="said" class="quiet" aria-live="polite"></span>
</div>
<div class="scroll" tabindex="0" role="region" aria-label="Leaderboard">
<table>
<caption>{about}</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}</tbody>
</table>
</div>
{notes}{figures}<h2>Columns</h2>
<dl>
{meanings}</dl>
<h2>Marks</h2>
<dl>
{marks}</dl>
<div id="tip" role="tooltip"></div>
<script>
{script}</script>
</body>
</html>
"""


def asset(name: str) -> str:
    """A file beside this one."""
    return files("harness.leaderboard").joinpath(name).read_text(encoding="utf-8")


def main(board: Board, column: Column) -> bool:
    """Whether a column is shown before the reader asks for all of them."""
    return column.title in {*MAIN, title(board), *board.matrix.tasks}


def warnings(lines: Sequence[str]) -> str:
    """What a reader must know before reading a number."""
    inside = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f'<aside class="warnings" aria-label="Warnings">{inside}</aside>\n' if lines else ""


def bullets(lines: Sequence[str]) -> str:
    """Notes under the table."""
    return f'<ul class="notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>\n' if lines else ""


def classes(*names: str) -> str:
    """A class attribute of the names that are none of them empty; '' for none."""
    said = " ".join(name for name in names if name)
    return f' class="{said}"' if said else ""


def head_cell(column: Column, important: bool) -> str:
    """A heading that sorts, with the column's meaning as its tip."""
    sort = ' aria-sort="descending"' if column.title == "difference" else ""
    kind = classes(
        "first" if column.title == "method" else "", "" if column.numeric else "text", "" if important else "more"
    )
    tip = f' data-tip="{escape(column.meaning)}"'
    return f'<th scope="col"{kind}{sort}><button type="button"{tip}>{escape(column.title)}</button></th>'


def body_row(row: Row, shown: Sequence[Column], board: Board, links: Mapping[str, str]) -> str:
    """A row of the table."""
    cells = "".join(cell(column, row, main(board, column), links) for column in shown)
    return f"<tr{classes(ROLES.get(row.role, 'control'))}>{cells}</tr>\n"


def cell(column: Column, row: Row, important: bool, links: Mapping[str, str]) -> str:
    """A cell: what it shows, and what it sorts by."""
    value = f' data-value="{escape(sortable(column, row))}"'
    if column.title == "method":
        return f'<th scope="row" class="first text"{value}>{method(row, links)}</th>'
    text = column.text(row)
    claim = text if column.title == "verdict" and text in {"better", "worse"} else ""
    inside = f'<span class="{claim}">{claim}</span>' if claim else escape(text)
    return f"<td{classes('' if column.numeric else 'text', '' if important else 'more')}{value}>{inside}</td>"


def method(row: Row, links: Mapping[str, str]) -> str:
    """A method's name, a link where its run is known, and its marks."""
    name = re.sub(r"([+,])", r"\1<wbr>", escape(row.method))  # where a narrow screen may break it
    if row.method in links:
        name = f'<a href="{escape(links[row.method])}" target="_blank" rel="noopener">{name}</a>'
    marks = [ROLES.get(row.role, "control")]
    marks += [mark for mark in ("experimental", "inert", "unweighed") if getattr(row, mark)]
    said = (f'<span class="mark {mark}" data-tip="{escape(MARKS[mark])}">{mark}</span>' for mark in marks if mark)
    return name + " ".join(["", *said])


def sortable(column: Column, row: Row) -> str:
    """What a cell sorts by; empty values go last either way."""
    value = column.value(row)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def gallery(paths: Sequence[Path], interactive: bool) -> str:
    """The figures inside the page."""
    if not paths:
        return ""
    link = f'<p>The same to point at: <a href="{INTERACTIVE}">{INTERACTIVE}</a></p>\n' if interactive else ""
    return f"<h2>Figures</h2>\n{link}{''.join(map(picture, paths))}"


def picture(path: Path) -> str:
    """A figure inside the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<figure><img alt="{escape(path.stem)}" src="data:image/png;base64,{data}"></figure>\n'
