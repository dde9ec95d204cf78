"""The board as text: for the terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.leaderboard.columns import Column, columns, footnotes, title
from harness.leaderboard.costs import charges, counts
from harness.leaderboard.model import CONTROLS, UNTRAINED, Board, Row

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["as_csv", "as_json", "as_markdown", "as_table", "heading", "trials_csv"]

STYLES = {"better": "green", "worse": "red"}
# who stays when a terminal is narrow; the score, which is named after the metric, comes second
PRIORITY = (
    "method", "", "difference", "verdict", "n", "steps", "failures", "p", "waste", "time", "P(better)", "p sign",
    "extra", "spent", "area",
)  # fmt: skip


def heading(board: Board) -> str:
    """One line: suite, rules, what is compared under which budget."""
    budget = ", ".join(f"{limit:,.0f} {currency}" for currency, limit in board.budget.items())
    return f"{board.suite} (rules {board.rules}): {board.metric.name} against {board.baseline}, budget {budget} a trial"


class as_table:  # noqa: N801 - it is used as a function
    """The board for a terminal: what does not fit into its width is left out, the least important columns first."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table and its footnotes at the console's width."""
        from rich.table import Table
        from rich.text import Text

        shown = fitting(self.board, options.max_width)
        yield Text(heading(self.board), style="bold")
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for column in shown:
            table.add_column(column.title, justify="right" if column.numeric else "left", no_wrap=True)
        for row in self.board.rows:
            style = "dim" if row.role in {*CONTROLS, UNTRAINED} else "bold" if row.role == "baseline" else ""
            verdict = row.difference.verdict if row.difference else ""
            table.add_row(*(column.text(row) for column in shown), style=STYLES.get(verdict, style))
        yield table
        for line in footnotes(self.board):
            yield Text(line, style="bold yellow" if line.startswith("WARNING") else "dim")


def fitting(board: Board, width: int) -> list[Column]:
    """The columns that say something and fit, in the board's order; the first ones of PRIORITY are never dropped."""
    said = [column for column in columns(board) if any(column.text(row) not in {"-", "0"} for row in board.rows)]
    size = {c.title: 2 + max(len(c.title), *(len(c.text(row)) for row in board.rows)) for c in said}
    need = {**{name: i for i, name in enumerate(PRIORITY)}, title(board): 1}
    by_need = sorted(said, key=lambda column: need.get(column.title, len(PRIORITY)))
    kept: list[str] = []
    for place, column in enumerate(by_need):
        if place < 3 or sum(size[name] for name in kept) + size[column.title] <= width:
            kept.append(column.title)
    return [column for column in said if column.title in kept]


def as_markdown(board: Board, top: int | None = None) -> str:
    """A Markdown table under a heading; `top` keeps the first rows only."""
    shown = columns(board)
    rows = board.rows[:top]
    lines = [f"### {heading(board)}", ""]
    if board.question:
        lines += [board.question, ""]
    lines += [f"> **{line}**\n" if line.startswith("WARNING") else f"> {line}\n" for line in footnotes(board)]
    lines.append("| # | " + " | ".join(column.title for column in shown) + " |")
    lines.append("| ---: |" + "".join(" ---: |" if column.numeric else " --- |" for column in shown))
    for place, row in enumerate(rows, start=1):
        cells = [column.text(row).replace("|", "\\|") for column in shown]
        lines.append(f"| {place} | " + " | ".join(cells) + " |")
    if len(rows) < len(board.rows):
        lines.append(f"\n{len(board.rows) - len(rows)} more rows in the board's own files.")
    return "\n".join(lines) + "\n"


def record(board: Board, row: Row) -> dict[str, Any]:
    """A row as flat, unrounded values: shares stay in [0, 1]."""
    found, spent = row.difference, row.cost
    return {
        "method": row.method, "role": row.role, "n": row.n, "expected": row.expected,
        "score": row.score.mean, "score_low": row.score.low, "score_high": row.score.high,
        "difference": found.interval.mean if found else math.nan,
        "difference_low": found.interval.low if found else math.nan,
        "difference_high": found.interval.high if found else math.nan,
        "verdict": found.verdict if found else "",
        "p": found.p if found else math.nan, "p_holm": found.p_holm if found else math.nan,
        "p_sign": found.p_sign if found else math.nan, "p_better": found.p_better if found else math.nan,
        **{f"task_{task}": row.tasks.get(task, math.nan) for task in board.matrix.tasks},
        "area": row.area, "inert": row.inert, "experimental": row.experimental,
        **{name: getattr(spent, name) if spent else math.nan
           for name in ("spent", "share", "steps", "generated", "waste", "extra", "seconds")},
        "failures": spent.failed if spent else 0, "versions": "; ".join(row.versions),
    }  # fmt: skip


def to_csv(records: list[dict[str, Any]]) -> str:
    """Records as CSV, the union of their keys in order of first use; NaN and None are empty."""
    names = list(dict.fromkeys(name for item in records for name in item))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for item in records:
        writer.writerow({name: "" if absent(value) else value for name, value in item.items()})
    return out.getvalue()


def absent(value: object) -> bool:
    """Whether a cell has nothing to say."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def as_csv(board: Board) -> str:
    """The board's rows, unrounded."""
    return to_csv([record(board, row) for row in board.rows])


def as_json(board: Board) -> str:
    """The board and all that it was computed from, strictly JSON (no NaN)."""
    value = {
        "suite": board.suite, "rules": board.rules, "question": board.question, "metric": asdict(board.metric),
        "baseline": board.baseline, "comparisons": board.comparisons, "provisional": board.provisional,
        "warnings": board.warnings, "notes": board.notes, "budget": board.budget, "seeds": board.matrix.seeds,
        "rows": [{**record(board, row), "scores": row.scores.tolist()} for row in board.rows],
    }  # fmt: skip
    return json.dumps(finite(value), indent=1, ensure_ascii=False) + "\n"


def finite(value: Any) -> Any:
    """The same value with null for every non-finite number."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return None if absent(value) else value


def trials_csv(board: Board) -> str:
    """Raw data of every trial and task at every evaluation, tidy: enough to compute the board again."""
    records = []
    for (method, seed), trial in sorted(board.matrix.trials.items()):
        totals = {f"ledger_{k}": v for k, v in (charges(trial.ledger) | counts(trial.ledger)).items()}
        last = len(trial.evaluations) - 1
        for place, evaluation in enumerate(trial.evaluations):
            for task, values in sorted(evaluation.get("tasks", {}).items()):
                records.append({
                    "method": method, "seed": seed, "status": trial.status, "trial_key": trial.key,
                    "step": evaluation.get("step"), "spent": evaluation.get("spent"),
                    "progress": evaluation.get("progress"), "last": place == last, "task": task, **values,
                    **(totals | {"seconds": trial.seconds} if place == last else {}),
                })  # fmt: skip
    return to_csv(records)
