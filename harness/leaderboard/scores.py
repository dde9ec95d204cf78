"""A board's raw data as three tidy tables, from which the board can be computed again (`exported` reads them).

`scores.parquet` has a row per trial, evaluation and task; `items.parquet` a row per trial and problem of its last
evaluation; `metrics.parquet` a row per trial and step. docs/scores.md explains their columns. None names a user, a
machine or a path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard.costs import charges, counts, largest_clip_share, limit, spent
from harness.leaderboard.matrix import known_names
from harness.leaderboard.model import Board
from harness.leaderboard.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["items_table", "metrics_table", "origins", "public_suite", "scores_table"]

# what is kept of where a trial ran: enough to judge whether trials are comparable, nothing that names a machine
PROVENANCE = ("commit", "cpu", "capability", "device", "threads", "python")
PLUGIN = ("name", "distribution", "version", "digest")
CATEGORIES = ("suite", "method", "role", "status", "currency", "task", "key", "trial_key", "digests", "plugins",
              "unweighed", "packages", "tuning", *PROVENANCE)  # fmt: skip


def scores_table(board: Board) -> pd.DataFrame:
    """A row per trial, evaluation and task; a trial without an evaluation has one row without scores."""
    trials = ordered(board)
    tasks, _ = known_names(trials)
    wholes = [of_trial(board, trial) for trial in trials]
    return framed([
        {**whole, **row} for trial, whole in zip(trials, wholes, strict=True) for row in evaluations_of(trial, tasks)
    ])  # fmt: skip


def items_table(board: Board) -> pd.DataFrame:
    """A row per trial and problem of its last evaluation, of the trials that are done."""
    import pandas as pd

    parts = [
        (trial.method, trial.seed, task, found)
        for trial in ordered(board) if trial.status == "done"
        for task, found in sorted(trial.answers.items())
    ]  # fmt: skip
    if not parts:
        return pd.DataFrame()
    sizes = [len(found.keys) for *_, found in parts]
    methods, seeds, tasks, answers = zip(*parts, strict=True)
    return pd.DataFrame({
        "method": pd.Categorical(methods).repeat(sizes),
        "seed": np.repeat(seeds, sizes),
        "task": pd.Categorical(tasks).repeat(sizes),
        "key": pd.Categorical([key for found in answers for key in found.keys]),
        "greedy": np.concatenate([found.greedy for found in answers]),
        "correct": np.concatenate([found.correct for found in answers]).astype("int32"),
        "samples": np.concatenate([found.samples for found in answers]).astype("int32"),
    })  # fmt: skip


def metrics_table(board: Board) -> pd.DataFrame:
    """A row per trial and step: all numbers that training logged, empty where a step did not log them."""
    import pandas as pd

    tables = []
    for trial in ordered(board):  # one at a time: the records of all of a large suite would fill the memory
        numbers = [
            {name: value for name, value in record.items() if isinstance(value, (int, float))}
            for record in trial.metrics
        ]
        if numbers:
            tables.append(pd.DataFrame({"method": trial.method, "seed": trial.seed, **framed_columns(numbers)}))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def framed_columns(records: Sequence[Mapping[str, float]]) -> dict[str, NDArray[np.float64]]:
    """The numbers of several records as columns, NaN where a record has none."""
    names = dict.fromkeys(name for record in records for name in record)
    return {name: np.array([record.get(name, np.nan) for record in records], dtype=float) for name in names}


def origins(board: Board) -> list[dict[str, Any]]:
    """What the trials ran on and with, each combination once."""
    found = {
        as_text({**{name: trial.provenance.get(name) for name in PROVENANCE},
                 "packages": trial.provenance.get("packages") or {}})
        for trial in board.matrix.trials.values()
    }  # fmt: skip
    return [json.loads(text) for text in sorted(found)]


def public_suite(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved suite to hand on: files and directories by their names only."""
    suite = dict(settings)
    if suite.get("plugins"):
        suite["plugins"] = [Path(str(name)).name for name in suite["plugins"]]
    policy = dict(suite.get("policy") or {})
    if Path(str(policy.get("model"))).is_absolute():
        suite["policy"] = policy | {"model": Path(str(policy["model"])).name}
    return suite


def ordered(board: Board) -> list[Trial]:
    """The trials by the board's order of methods, then by seed."""
    return [trial for row in board.rows for trial in board.matrix.of(row.method) if row.method in board.matrix.methods]


def of_trial(board: Board, trial: Trial) -> dict[str, Any]:
    """What is the same in every row of a trial."""
    rows = {row.method: row for row in board.rows}
    digests = trial.record.get("digests")
    return {
        "suite": board.suite, "rules": board.rules, "method": trial.method, "role": rows[trial.method].role,
        "seed": trial.seed, "status": trial.status,
        "trial_key": trial.record.get("trial_key"), "semantics": trial.record.get("semantics"),
        "digests": as_text(digests) if digests else None, "currency": board.currency, "budget": limit(trial),
        "total_spent": spent(trial), "steps": trial.steps, "seconds": trial.seconds,
        **{f"charge_{name}": value for name, value in charges(trial.ledger).items()},
        **{f"count_{name}": value for name, value in counts(trial.ledger).items()},
        "clips": bool(trial.record.get("clips")),
        "clip_share": largest_clip_share(trial) if trial.record.get("clips") else None,
        "experimental": bool(trial.record.get("experimental")),
        "unweighed": as_text(trial.record["unweighed"]) if trial.record.get("unweighed") else None,
        "tuning": as_text(trial.record["tuning"]) if trial.record.get("tuning") else None,
        "plugins": as_text([{name: plugin.get(name) for name in PLUGIN} for plugin in trial.plugins]),
        **{name: trial.provenance.get(name) for name in PROVENANCE},
        "packages": as_text(trial.provenance.get("packages") or {}),
    }  # fmt: skip


def as_text(value: Any) -> str:
    """A small structure as JSON."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def evaluations_of(trial: Trial, tasks: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a trial's evaluations."""
    last = len(trial.evaluations) - 1
    rows = [
        {
            "evaluation": place, "last": place == last, "step": evaluation.get("step"),
            "spent": evaluation.get("spent"), "progress": evaluation.get("progress"), "task": task,
            **{name: value for name, value in values.items() if isinstance(value, (int, float))},
        }
        for place, evaluation in enumerate(trial.evaluations)
        for task in tasks
        if (values := evaluation.get("tasks", {}).get(task))
    ]  # fmt: skip
    return rows or [{}]


def framed(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Records as a table with the evaluation's columns before the trial's totals."""
    import pandas as pd

    table = pd.DataFrame(list(records))
    first = ["suite", "rules", "method", "role", "seed", "status", "evaluation", "last", "step", "spent", "progress",
             "task", "accuracy", "pass_at_1", "pass_at_k", "k", "strict", "length", "truncated",
             "problems"]  # fmt: skip
    head = [name for name in first if name in table]
    return compact(table[[*head, *(name for name in table if name not in head)]])


def compact(table: pd.DataFrame) -> pd.DataFrame:
    """Repeated texts as categories, so that a file of many trials stays small."""
    texts = [name for name in CATEGORIES if name in table and any(isinstance(value, str) for value in table[name])]
    return table.astype(dict.fromkeys(texts, "category"))
