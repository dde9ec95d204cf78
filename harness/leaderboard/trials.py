"""Reading trial directories: the files are the truth, everything shown is computed from them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import yaml12
from harness.errors import UsageError
from harness.files import read_json
from harness.leaderboard.lines import read_lines, read_whole

__all__ = ["FAILURES", "Answers", "Trial", "read_lines", "read_suite", "read_trials"]

FAILURES = ("failed", "diverged", "timeout")  # ended without a result: they stay in the matrix
ENDED = ("done", *FAILURES)


@dataclass(frozen=True)
class Answers:
    """What the last evaluation of a trial found on each problem of one task, in the order of its file."""

    keys: tuple[str, ...]  # [I]
    greedy: NDArray[np.bool_]  # [I], the greedy answer was right
    correct: NDArray[np.int64]  # [I], right ones of the samples
    samples: NDArray[np.int64]  # [I]


@dataclass(frozen=True)
class Trial:
    """One trial as its directory tells it: a method stack, a seed, what it scored and what it cost.

    Each file is read once. Metrics are the largest and not kept: ask for them once.
    """

    path: Path
    method: str  # canonical stack
    seed: int
    record: dict[str, Any] = field(repr=False)  # config.json
    told: dict[str, Any] = field(repr=False, default_factory=dict)  # an exported trial: what stands in for its files

    @cached_property
    def config(self) -> dict[str, Any]:
        """The resolved settings of the trial."""
        return dict(self.record.get("config", {}))

    @property
    def key(self) -> str:
        """What names this trial everywhere: a hash of all that may change its numbers."""
        return str(self.record.get("trial_key") or f"{self.method} seed {self.seed}")

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """The stack's plugins as recorded: name, parameters, source digest, distribution and version."""
        return list(self.record.get("spec", {}).get("plugins", []))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Versions, commit, CPU and threads of the run."""
        return dict(self.record.get("provenance", {}))

    @cached_property
    def result(self) -> dict[str, Any]:
        """result.json, {} while the trial runs."""
        return self._object("result.json")

    @cached_property
    def status(self) -> str:
        """done, failed, diverged, timeout, interrupted; running or unfinished while there is no result."""
        return str(self.result.get("status") or self._object("status.json").get("status") or "unfinished")

    @property
    def ended(self) -> bool:
        """Whether the trial counts in the matrix: done, or failed for good."""
        return self.status in ENDED

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        """The evaluations in order of progress; of one step only the last written (a resumed trial may repeat one)."""
        by_step = {record.get("step", i): record for i, record in enumerate(self._lines("evaluations.jsonl"))}
        return sorted(by_step.values(), key=lambda record: (record.get("progress", 0.0), record.get("step", 0)))

    @cached_property
    def ledger(self) -> dict[str, Any]:
        """What the budget went to."""
        return self._object("ledger.json")

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The training metrics, a record a step."""
        by_step = {record.get("step", i): record for i, record in enumerate(self._lines("metrics.jsonl"))}
        return [by_step[step] for step in sorted(by_step)]

    @cached_property
    def steps(self) -> int:
        """Steps that were trained: the result's own count, the ledger's, or the records of the metrics."""
        counted = self.result.get("steps", (self.ledger.get("counts") or {}).get("steps"))
        return int(counted) if isinstance(counted, (int, float)) else len(self.metrics)

    @cached_property
    def seconds(self) -> float:
        """Seconds that the steps took, evaluation apart; NaN where no timing was kept."""
        counted = (self.ledger.get("total") or {}).get("seconds")
        if isinstance(counted, (int, float)):
            return float(counted)
        by_step = {record.get("step", i): record for i, record in enumerate(self._lines("timing.jsonl"))}
        if not by_step:
            return math.nan
        return sum(step_seconds(record) for record in by_step.values())

    @cached_property
    def answers(self) -> dict[str, Answers]:
        """Task -> what the last evaluation found on each of its problems; {} where it was not kept."""
        if "answers" in self.told:
            return dict(self.told["answers"])
        found: dict[str, list[dict[str, Any]]] = {}
        for item in self._lines("items.jsonl"):
            found.setdefault(str(item.get("task")), []).append(item)
        return {task: as_answers(items) for task, items in found.items()}

    def _object(self, name: str) -> dict[str, Any]:
        """A JSON file of the trial."""
        return dict(self.told.get(name, {})) if self.told else read_json(self.path / name)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a JSON Lines file of the trial."""
        if not self.told:
            return read_whole(self.path / name)
        told = self.told.get(name, ())
        return list(told() if callable(told) else told)


def as_answers(items: list[dict[str, Any]]) -> Answers:
    """The items of a task as columns; all trials share the texts of their keys."""
    return Answers(
        tuple([sys.intern(str(item.get("key"))) for item in items]),
        np.array([bool(item.get("greedy")) for item in items], dtype=bool),
        np.array([item.get("correct_samples") or 0 for item in items], dtype=np.int64),
        np.array([item.get("samples") or 0 for item in items], dtype=np.int64),
    )


def step_seconds(record: dict[str, Any]) -> float:
    """Seconds of one step of timing.jsonl: its total if it has one, else the sum over its stages."""
    if isinstance(record.get("total"), (int, float)):
        return float(record["total"])
    return float(sum(value for value in record.get("stages", {}).values() if isinstance(value, (int, float))))


def read_trials(directory: Path) -> list[Trial]:
    """The trials of a suite's directory, or of an exported board, in order of method and seed.

    Raises UsageError where there is no directory or no trial in it.
    """
    if not directory.is_dir():
        raise UsageError(f"no runs at {directory}: run the suite first, or give --out the directory of its runs")
    trials = []
    files = [*directory.glob("*/config.json"), *directory.glob("*/seed-*/config.json")]
    for file in sorted(files):
        record = read_json(file)
        config = record.get("config")
        if isinstance(config, dict) and "method" in config:
            method = str(record.get("stack") or config["method"])
            trials.append(Trial(file.parent, method, int(config.get("seed", 0)), record))
    if not trials:
        from harness.leaderboard.exported import exported_trials, is_export

        if is_export(directory):
            return exported_trials(directory)
        raise UsageError(f"no trials in {directory}: run the suite first")
    return sorted(trials, key=lambda trial: (trial.method, trial.seed))


def read_suite(directory: Path) -> dict[str, Any]:
    """The resolved suite kept beside its trials; {} where there is none."""
    path = directory / "suite.yaml"
    if not path.is_file():
        return {}
    value, _ = yaml12.load(path)
    return value if isinstance(value, dict) else {}
