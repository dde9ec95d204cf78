"""The board as text: Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.leaderboard.columns import Column, columns, footnotes
from harness.leaderboard.costs import charges, counts
from harness.leaderboard.model import Board, Row

__all__ = ["as_csv", "as_json", "as_markdown", "heading", "trials_csv"]


def heading(board: Board) -> str:
    """One line: suite, rules, what is compared under which budget."""
    budget = ", ".join(f"{limit:,.0f} {currency}" for currency, limit in board.budget.items())
    said = f"{board.suite} (rules {board.rules}): {board.metric.name} against {board.baseline}, budget {budget} a trial"
    return f"{said}, {board.tuning.track}"


def as_markdown(board: Board, top: int | None = None, shown: Sequence[Column] | None = None) -> str:
    """A Markdown table under a heading, of all columns or `shown`; `top` keeps the first rows only."""
    shown = columns(board) if shown is None else shown
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
        "rank_low": row.rank[0] if row.rank else None, "rank_high": row.rank[1] if row.rank else None,
        "letters": row.letters, "area": row.area, **reached(row), "evaluation_error": row.evaluation_error,
        "avg_at_k": row.avg_at_k, "pass_at_k": row.pass_at_k, "k": row.k or None, "length": row.length,
        "inert": row.inert, "experimental": row.experimental, "unweighed": ", ".join(row.unweighed),
        **{name: getattr(spent, name) if spent else math.nan
           for name in ("spent", "share", "steps", "generated", "waste", "extra", "seconds")},
        "failures": spent.failed if spent else 0, "tuning_trials": row.tuning.trials if spent else None,
        "tuning_cost": row.tuning.cost if spent else math.nan, "versions": "; ".join(row.versions),
    }  # fmt: skip


def reached(row: Row) -> dict[str, float | int | None]:
    """Budget to target, flat."""
    found = row.reached
    ends = {name: getattr(found.budget, end) if found else math.nan
            for name, end in (("to_target", "mean"), ("to_target_low", "low"), ("to_target_high", "high"))}  # fmt: skip
    return {**ends, "reached": found.reached if found else None}


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
    """The board's rows, unrounded; what the board warns of stands in every row, so that no reader can miss it."""
    warnings = " | ".join(board.warnings)
    return to_csv([{**record(board, row), "warnings": warnings} for row in board.rows])


def as_json(board: Board) -> str:
    """The board and all that it was computed from, strictly JSON (no NaN)."""
    value = {
        "suite": board.suite, "rules": board.rules, "question": board.question, "metric": asdict(board.metric),
        "baseline": board.baseline, "comparisons": board.comparisons, "provisional": board.provisional,
        "warnings": board.warnings, "notes": board.notes, "budget": board.budget, "seeds": board.matrix.seeds,
        "reduce": board.reduce, "target": asdict(board.target) if board.target else None,
        "detectable": dict(zip(("effect", "seeds"), board.detectable, strict=True)),
        "track": board.tuning.track, "sources": board.sources,
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
