"""Reading the trials of an exported board: its raw data stand in for the run directories."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import yaml12
from harness.leaderboard.scores import PROVENANCE
from harness.leaderboard.trials import Answers, Trial

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["exported_trials", "is_export"]

TABLE, OLDER, ITEMS, METRICS = "scores.parquet", "trials.csv", "items.parquet", "metrics.parquet"
COUNTED = ("rollouts_", "rows_", "tokens_", "steps", "updates")  # counters of the older table; else they are charges
MEASURES = ("accuracy", "pass_at_1", "pass_at_k", "k", "strict", "length", "truncated", "problems")


def is_export(folder: Path) -> bool:
    """Whether a folder holds the raw data of a board."""
    return (folder / TABLE).is_file() or (folder / OLDER).is_file()


def exported_trials(folder: Path) -> list[Trial]:
    """The trials of an exported board, as if their run directories were still there."""
    import pandas as pd

    whole = (folder / TABLE).is_file()
    table = pd.read_parquet(folder / TABLE) if whole else older(pd.read_csv(folder / OLDER), folder)
    answers, metrics = answers_of(folder), metrics_of(folder)
    trials = []
    for (name, number), rows in table.groupby(["method", "seed"], sort=True, observed=True):
        method, seed = str(name), int(str(number))
        trial = as_trial(folder, method, seed, rows, answers.get((method, seed), {}))
        trial.told["metrics.jsonl"] = metrics.get((method, seed), list)
        trials.append(trial)
    return trials


def as_trial(folder: Path, method: str, seed: int, rows: pd.DataFrame, answers: dict[str, Answers]) -> Trial:
    """One trial from its rows."""
    totals = {str(name): plain(value) for name, value in rows.iloc[-1].items()}
    known = {name: value for name, value in totals.items() if value is not None}
    record: dict[str, Any] = {
        "stack": method,
        "config": {"suite": known.get("suite"), "rules": known.get("rules", 1), "method": method, "seed": seed,
                   "budget": {known["currency"]: known["budget"]} if "budget" in known else {}},
        "spec": {"plugins": read(known.get("plugins"), [])},
        "clips": known.get("clips", False), "experimental": known.get("experimental", False),
        "provenance": {**{name: known[name] for name in PROVENANCE if name in known},
                       "packages": read(known.get("packages"), {})},
        **{name: known[name] for name in ("trial_key", "semantics") if name in known},
        **{name: read(known[name], None) for name in ("digests", "tuning", "unweighed") if name in known},
    }  # fmt: skip
    result: dict[str, Any] = {
        "status": known["status"],
        **{name: known[name] for name in ("steps", "clip_share") if name in known},
    }
    if "total_spent" in known:
        result["spent"] = known["total_spent"]
    told: dict[str, Any] = {
        "result.json": result,
        "ledger.json": {
            "categories": with_stem(known, "charge_"), "counts": with_stem(known, "count_"),
            "total": {"seconds": known.get("seconds", math.nan)},
        },
        "evaluations.jsonl": evaluations(rows),
        "answers": answers,
    }  # fmt: skip
    return Trial(folder / f"{method} seed {seed}", method, seed, record, told)


def plain(value: Any) -> Any:
    """A cell as Python has it; None where it is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in {"<NA>", "nan", "None"}:
        return None
    return value.item() if isinstance(value, np.generic) else value


def read(text: Any, default: Any) -> Any:
    """A small structure from its JSON."""
    return json.loads(text) if isinstance(text, str) else default


def with_stem(known: Mapping[str, Any], stem: str) -> dict[str, Any]:
    """The columns whose names begin with `stem`, by the rest of their names."""
    return {name.removeprefix(stem): value for name, value in known.items() if name.startswith(stem)}


def evaluations(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The evaluations as a run directory has them."""
    if "task" not in rows:  # no trial has been evaluated
        return []
    found: dict[int, dict[str, Any]] = {}
    measures = [name for name in MEASURES if name in rows]
    shown = rows[["step", "spent", "progress", "task", *measures]]
    for step, spent, progress, task, *values in shown.itertuples(index=False, name=None):
        if not isinstance(task, str):
            continue
        at = found.setdefault(int(step), {"step": int(step), "spent": spent, "progress": progress, "tasks": {}})
        at["tasks"][task] = {
            name: plain(value) for name, value in zip(measures, values, strict=True) if plain(value) is not None
        }
    for evaluation in found.values():
        scores = [values["pass_at_1"] for values in evaluation["tasks"].values() if "pass_at_1" in values]
        evaluation["score"] = math.fsum(scores) / len(scores) if scores else None
    return list(found.values())


def answers_of(folder: Path) -> dict[tuple[str, int], dict[str, Answers]]:
    """(method, seed) -> task -> answers; {} where they were not exported."""
    import pandas as pd

    if not (folder / ITEMS).is_file():
        return {}
    found: dict[tuple[str, int], dict[str, Answers]] = {}
    table = pd.read_parquet(folder / ITEMS)
    if table.empty:
        return {}
    for (method, seed, task), rows in table.groupby(["method", "seed", "task"], sort=False, observed=True):
        found.setdefault((str(method), int(str(seed))), {})[str(task)] = Answers(
            tuple(map(str, rows["key"])), rows["greedy"].to_numpy(bool),
            rows["correct"].to_numpy(np.int64), rows["samples"].to_numpy(np.int64),
        )  # fmt: skip
    return found


def metrics_of(folder: Path) -> dict[tuple[str, int], Callable[[], list[dict[str, Any]]]]:
    """(method, seed) -> what gives a record a step of what was logged; {} where it was not exported.

    The records are made when they are asked for: those of all trials together are many times their table.
    """
    import pandas as pd

    if not (folder / METRICS).is_file():
        return {}
    table = pd.read_parquet(folder / METRICS)
    if table.empty:
        return {}
    return {
        (str(method), int(str(seed))): partial(records, rows)
        for (method, seed), rows in table.groupby(["method", "seed"], sort=False, observed=True)
    }


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """A trial's rows as metrics.jsonl has them, without what a step did not log."""
    found = rows.drop(columns=["method", "seed"]).to_dict("records")
    return [{str(name): value for name, value in record.items() if plain(value) is not None} for record in found]


def older(table: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """trials.csv of exports that have no scores.parquet, with the columns that it lacks from the suite's file."""
    names = {
        name: ("count_" if name.removeprefix("ledger_").startswith(COUNTED) else "charge_")
        + name.removeprefix("ledger_")
        for name in map(str, table)
        if name.startswith("ledger_")
    }
    suite = yaml12.load(folder / "suite.yaml")[0] if (folder / "suite.yaml").is_file() else {}
    budget = {name: value for name, value in dict(suite.get("budget") or {}).items() if isinstance(value, (int, float))}
    made = table.rename(columns=names).assign(suite=suite.get("name"), rules=suite.get("rules", 1))
    if budget:
        made["currency"], made["budget"] = next(iter(budget.items()))
    if "count_steps" in made:
        made["steps"] = made["count_steps"]
    return made
