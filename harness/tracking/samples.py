"""What a method's policies write: a table of sampled completions that MLflow shows and compares between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.leaderboard import Trial
from harness.leaderboard.trials import read_lines

__all__ = ["COLUMNS", "FILE", "MOST", "sample_table"]

FILE = "samples.json"
MOST = 200  # rows
LONGEST = 2000  # characters of a text
COLUMNS = ("task", "prompt", "completion", "gold", "reward", "correct", "seed", "budget", "tokens", "truncated")


def sample_table(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """Column -> values of the completions sampled at the last evaluation of every seed, then at the first; {} if none.

    Budget is the share spent by then; gold and reward are empty where a trial was run before they were kept.
    """
    last: list[dict[str, Any]] = []
    first: list[dict[str, Any]] = []
    for trial in trials:
        records = list(read_lines(trial.path / "samples.jsonl"))
        places = [float(record.get("progress", 0.0)) for record in records]
        for place, record in zip(places, records, strict=True):
            if place == max(places):
                last.append(sample(record, trial.seed))
            elif place == min(places):
                first.append(sample(record, trial.seed))
    rows = [*last, *first][:MOST]
    return {name: [row[name] for row in rows] for name in COLUMNS} if rows else {}


def sample(record: dict[str, Any], seed: int) -> dict[str, Any]:
    """A line of samples.jsonl as a row of the table."""
    return {
        "task": record.get("task", ""), "prompt": shortened(record.get("prompt")),
        "completion": shortened(record.get("text")), "gold": shortened(record.get("answer")),
        "reward": record.get("reward"), "correct": bool(record.get("correct")), "seed": seed,
        "budget": f"{100 * float(record.get('progress', 0.0)):.0f}%", "tokens": record.get("tokens"),
        "truncated": bool(record.get("truncated")),
    }  # fmt: skip


def shortened(text: object) -> str:
    """A text that a table can show."""
    whole = "" if text is None else str(text)
    return whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
