"""Trial directories made again from what results/ keeps: trials.csv, metrics.parquet and suite.yaml."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from harness import yaml12

MEASURES = ("accuracy", "pass_at_1", "pass_at_k", "length", "truncated", "k", "problems")
CATEGORIES = ("generate", "prompt", "train", "old", "reference", "greedy", "policy")
PREFIXES = ("module:", "teacher:")


def rebuild(results: Path, runs: Path) -> Path:
    """Write the trials of a results folder under `runs`; items and clip marks are not kept there."""
    runs.mkdir(parents=True, exist_ok=True)
    shutil.copy(results / "suite.yaml", runs / "suite.yaml")
    suite, _ = yaml12.load(results / "suite.yaml")
    metrics = dict(iter(pd.read_parquet(results / "metrics.parquet").groupby(["method", "seed"])))
    for key, rows in pd.read_csv(results / "trials.csv").groupby(["method", "seed"]):
        write(runs, (str(key[0]), int(key[1])), rows, metrics.get(key), suite)
    return runs


def write(runs: Path, key: tuple[str, int], rows: pd.DataFrame, metrics: pd.DataFrame | None, suite: Any) -> None:
    """One trial."""
    method, seed = key
    folder = runs / "".join(c if c.isalnum() or c in "+-" else "_" for c in method) / f"seed-{seed}"
    folder.mkdir(parents=True)
    last = rows[rows["last"]].iloc[0]
    config = {name: suite[key] for name, key in (("suite", "name"), ("rules", "rules"), ("budget", "budget"))}
    config |= {"method": method, "seed": seed}
    evaluations = [
        {"step": step, "spent": float(part["spent"].iloc[0]), "progress": float(part["progress"].iloc[0]),
         "tasks": {row["task"]: {name: row[name] for name in MEASURES} for _, row in part.iterrows()}}
        for step, part in rows.groupby("step")
    ]  # fmt: skip
    found = {name.removeprefix("ledger_"): value for name, value in last.items() if name.startswith("ledger_")}
    found = {name: float(value) for name, value in found.items() if not math.isnan(value)}
    charged = {name: value for name, value in found.items() if name in CATEGORIES or name.startswith(PREFIXES)}
    counted = {name: value for name, value in found.items() if name not in charged}
    files = {
        "config.json": {"config": config, "stack": method, "trial_key": last["trial_key"]},
        "ledger.json": {"categories": charged, "counts": counted, "total": {"seconds": last["seconds"]}},
        "result.json": {"status": last["status"], "spent": float(last["spent"])},
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))
    steps = [] if metrics is None else metrics.drop(columns=["method", "seed"]).to_dict("records")
    for name, records in (("evaluations.jsonl", evaluations), ("metrics.jsonl", steps)):
        kept = [{k: v for k, v in record.items() if not (isinstance(v, float) and math.isnan(v))} for record in records]
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in kept))
