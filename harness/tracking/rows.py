"""The three kinds of rows of an experiment: seed (one trial), method (its seeds together), board (files)."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.leaderboard import Board, Row, Trial
from harness.leaderboard.columns import number, title
from harness.leaderboard.formats import finite, record
from harness.leaderboard.statistics import Interval
from harness.tracking.names import encode
from harness.tracking.points import Point, trial_points
from harness.tracking.privacy import SECRET, anonymous, without_folders
from harness.tracking.samples import sample_table

__all__ = ["STATUS", "MlflowRow", "method_key", "method_row", "seed_row"]

STATUS = {"done": "FINISHED", "failed": "FAILED", "diverged": "FAILED", "timeout": "FAILED", "interrupted": "KILLED"}
MOST_PARAMS = 40
DIGITS = 4  # of what MLflow's table shows; the tag `record` has all of them
LONGEST_TAG = 5000
FORMAT = 2  # of what is written for a row: raised, a rebuild writes every row anew
CONTROLS = ("placebo", "random-reward", "untrained")
SECTIONS = ("policy", "sampling", "sampler", "learner", "optimizer", "budget", "evaluation")


@dataclass(frozen=True)
class MlflowRow:
    """A run as MLflow is to hold it."""

    key: str  # the tag trial_key: what finds the run again
    name: str
    status: str
    tags: dict[str, str]
    points: list[Point] = field(repr=False)
    params: dict[str, str] = field(default_factory=dict, repr=False)
    files: tuple[Path, ...] = ()
    documents: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)  # file name -> JSON
    colour: str = ""  # in MLflow's charts; no part of the content: it may change with the suite's methods
    table: dict[str, list[Any]] = field(default_factory=dict, repr=False)  # sampled completions, column -> values

    @property
    def grows(self) -> bool:
        """Whether the run may still get points; the rows of a board are made anew when they change."""
        return self.tags.get("row") == "seed"

    @property
    def content(self) -> str:
        """A digest of all it holds: an equal one needs no writing."""
        value = [FORMAT, self.name, self.status, self.tags, self.points, self.params, self.table]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def seed_row(trial: Trial, *, live: bool = False, colour: str = "") -> MlflowRow:
    """A trial: curves over the budget; `live` says that an unfinished one is running now, not killed."""
    config = trial.config
    tags = {
        "row": "seed", "trial_key": trial.key, "method": trial.method, "seed": str(trial.seed), "status": trial.status,
        "suite": str(config.get("suite", "")), "rules": str(config.get("rules", 1)),
        "plugins": ", ".join(f"{p.get('name')} {p.get('version') or ''}".strip() for p in trial.plugins),
        **{name: str(value) for name, value in provenance(trial).items()},
    }  # fmt: skip
    if trial.result.get("error"):
        tags["error"] = str(trial.result["error"])
    return MlflowRow(
        key=trial.key,
        name=f"{trial.method} seed {trial.seed}",
        status=STATUS.get(trial.status, "RUNNING" if live else "KILLED"),
        tags=short({name: without_folders(value) for name, value in tags.items()}),
        points=trial_points(trial),
        params=params(anonymous(config)),
        colour=colour,
        files=tuple(path for name in ("ledger.json", "samples.jsonl") if (path := trial.path / name).is_file()),
        documents={"config.json": anonymous(trial.record)},
    )


def provenance(trial: Trial) -> dict[str, Any]:
    """Versions, commit, processor and threads as flat tags."""
    flat: dict[str, Any] = {}
    for name, value in trial.provenance.items():
        if name in SECRET:
            continue
        if isinstance(value, dict):
            flat |= {f"{name}.{part}": item for part, item in value.items() if isinstance(item, (str, int, float))}
        elif isinstance(value, (str, int, float)):
            flat[name] = value
    return flat


def params(config: dict[str, Any]) -> dict[str, str]:
    """The settings worth searching by, flat; the whole configuration is an artifact."""
    flat = {
        encode(f"{section}.{name}"): str(value)
        for section in SECTIONS
        for name, value in dict(config.get(section) or {}).items()
        if value is not None
    }
    return dict(list(flat.items())[:MOST_PARAMS])


def method_key(row: Row) -> str:
    """What finds a method's run again."""
    return f"method:{row.method}"


def method_row(board: Board, row: Row, place: int, colour: str) -> MlflowRow:
    """A method over its seeds: the few numbers of the board, so that MLflow's own table is the board."""
    found = row.difference
    interval = found.interval if found else None
    numbers = {
        "score": row.score.mean, "score_low": row.score.low, "score_high": row.score.high, "area": row.area,
        "pass_at_k": row.pass_at_k,
        **({encode(f"task/{task}"): value for task, value in row.tasks.items()} if len(row.tasks) > 1 else {}),
    }  # fmt: skip
    if row.role == "baseline":
        numbers |= {"delta": 0.0, "delta_low": 0.0, "delta_high": 0.0}
    if found is not None and interval is not None:
        numbers |= {"delta": interval.mean, "delta_low": interval.low, "delta_high": interval.high}
        numbers |= {"p": found.p_holm, "p_better": found.p_better}
    if row.cost is not None:
        numbers |= {name: float(getattr(row.cost, name)) for name in ("waste", "extra", "seconds")}
        numbers["failures"] = float(row.cost.failed)
    tags = {
        "row": "method", "trial_key": method_key(row), "method": row.method, "role": row.role,
        "suite": board.suite, "rules": str(board.rules), "metric": title(board), "baseline": board.baseline,
        "rank": f"{place:03d}", "seeds": str(row.n) if row.n == row.expected else f"{row.n} of {row.expected}",
        "verdict": verdict(board, row),
        "letters": row.letters, "ranks": "-".join(map(str, dict.fromkeys(row.rank or ()))),
        "score interval": ends(row.score),
        "difference": with_ends(interval) if interval else row.role,
        "record": json.dumps(finite(record(board, row)), ensure_ascii=False),
    }  # fmt: skip
    for mark in ("inert", "experimental"):
        if getattr(row, mark):
            tags[mark] = "yes"
    if row.unweighed:
        tags["unweighed"] = ", ".join(row.unweighed)
    logged = [Point(key, round(value, DIGITS), 0) for key, value in numbers.items() if math.isfinite(value)]
    table = sample_table(board.matrix.of(row.method)) if row.method in board.matrix.methods else {}
    return MlflowRow(tags["trial_key"], row.method, "FINISHED", short(tags), logged, table=table, colour=colour)


def verdict(board: Board, row: Row) -> str:
    """A claim, such as better or worse; else why nothing is claimed."""
    said = row.difference.verdict if row.difference else ""
    return "control" if row.role in CONTROLS else said or ("provisional" if board.provisional else "-")


def ends(interval: Interval, *, sign: bool = False) -> str:
    """'[0.430, 0.508]', in the unit of the metric beside it."""
    if math.isnan(interval.low):
        return ""
    return f"[{number(interval.low, 3, sign=sign)}, {number(interval.high, 3, sign=sign)}]"


def with_ends(interval: Interval) -> str:
    """'+0.065 [+0.036, +0.093]'."""
    return f"{number(interval.mean, 3, sign=True)} {ends(interval, sign=True)}".strip()


def short(tags: dict[str, str]) -> dict[str, str]:
    """Tags within MLflow's length, which would cut them silently; empty ones left out."""
    return {
        name: value if len(value) <= LONGEST_TAG else value[: LONGEST_TAG - 1] + "\N{HORIZONTAL ELLIPSIS}"
        for name, value in tags.items()
        if value
    }
