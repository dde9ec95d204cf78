"""The board as a LaTeX table with the rules of booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.leaderboard.cells import MINUS
from harness.leaderboard.columns import Column, columns, footnotes, title
from harness.leaderboard.formats import heading
from harness.leaderboard.model import Board

__all__ = ["as_latex", "escaped"]

# what a page is wide enough for; the score, which is named after the metric, comes second
PRINTED = ("method", "n", "", "difference", "p", "letters", "to target", "waste", "failures")
SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": r"\textbar{}",
    MINUS: "$-$", "\N{PLUS-MINUS SIGN}": r"$\pm$", "\N{EN DASH}": "--", "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "`": r"\textquoteleft{}", '"': "''",
}  # fmt: skip
PATTERN = re.compile("|".join(map(re.escape, SPECIAL)))


def escaped(text: str) -> str:
    """Text as LaTeX prints it; only letters beyond ASCII are left to the document's own encoding."""
    return PATTERN.sub(lambda found: SPECIAL[found[0]], text)


def as_latex(board: Board, shown: Sequence[Column] | None = None) -> str:
    """A table environment of `shown` or of the columns that fit a page, warnings and notes below it."""
    if shown is None:
        wanted = {*PRINTED, title(board)}
        shown = [column for column in columns(board) if column.title in wanted]
    label = re.sub(r"[^a-z0-9]+", "-", board.suite.lower()).strip("-")
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{escaped(heading(board))}.}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in shown)}}}",
        r"\toprule",
        " & ".join(escaped(column.title) for column in shown) + r" \\",
        r"\midrule",
        *(" & ".join(escaped(column.text(row)) for column in shown) + r" \\" for row in board.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *map(note, footnotes(board)),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def note(line: str) -> str:
    """A paragraph under the table, what stands between backticks as typed; a warning is bold."""
    parts = [escaped(part) for part in line.split("`")]
    text = "".join(rf"\texttt{{{part}}}" if place % 2 else part for place, part in enumerate(parts))
    said = rf"\textbf{{{text}}}" if line.startswith("WARNING") else text
    return rf"\par\smallskip {{\footnotesize {said}\par}}"
