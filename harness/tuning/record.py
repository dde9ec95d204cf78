"""What a row's search found: a score for every candidate, the one that is chosen, what it all cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.files import read_json, write_json
from harness.leaderboard.statistics import area_under_curve
from harness.leaderboard.trials import FAILURES, read_lines
from harness.tuning.search import Candidate, Search

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["FILE", "Found", "Tried", "found", "write"]

FILE = "tuning.json"  # beside the row's trials


@dataclass(frozen=True)
class Tried:
    """One search trial as its directory tells it."""

    number: int
    seed: int
    status: str
    score: float  # by the suite's tuning.metric; NaN where it failed before its first evaluation
    untrained: float
    spent: float
    seconds: float

    @property
    def ended(self) -> bool:
        """Whether it counts: failures do, as they do in a report."""
        return self.status == "done" or self.status in FAILURES

    @classmethod
    def read(cls, config: TrialConfig, directory: Path, metric: str) -> Tried:
        """From the result and the evaluations of a trial, which need not have begun."""
        assert config.tuned is not None
        assert config.tuned.number is not None
        result = read_json(directory / "result.json")
        status = str(result.get("status") or "waiting")
        if status in FAILURES:  # a worker that was killed had no time to write what it had measured
            result = measured(directory) | {name: value for name, value in result.items() if value is not None}
        score = number(result.get("score"))
        if metric == "auc" and not math.isnan(score):
            curve = evaluations(directory)
            score = area_under_curve([e["progress"] for e in curve], [e["score"] for e in curve], score)
        spent, seconds = (number(result.get(name), 0.0) for name in ("spent", "seconds"))
        return cls(config.tuned.number, config.seed, status, score, number(result.get("untrained")), spent, seconds)


def number(value: object, otherwise: float = math.nan) -> float:
    """A number of a record, `otherwise` for anything else."""
    return float(value) if isinstance(value, int | float) else otherwise


def evaluations(directory: Path) -> list[dict[str, Any]]:
    """A trial's evaluations in order; of one step only the last written (a resumed trial may repeat one)."""
    steps = {record["step"]: record for record in read_lines(directory / "evaluations.jsonl")}
    return [steps[step] for step in sorted(steps)]


def measured(directory: Path) -> dict[str, float]:
    """What the evaluations of a failed trial tell of its result; {} where there was none."""
    found = evaluations(directory)
    if not found:
        return {}
    untrained, last = float(found[0]["score"]), float(found[-1]["score"])
    return {"score": min(untrained, last), "untrained": untrained, "spent": number(found[-1].get("spent"), 0.0)}


@dataclass(frozen=True)
class Found:
    """The outcome of a search."""

    search: Search
    tried: tuple[Tried, ...]
    scores: tuple[float, ...]  # of the candidates, mean over seeds
    chosen: Candidate

    @property
    def spent(self) -> float:
        """Everything that the search spent, in the suite's currency."""
        return math.fsum(one.spent for one in self.tried)


def found(search: Search, tried: Sequence[Tried]) -> Found | None:
    """The candidate with the best mean score, the earliest of equals; None while search trials are missing.

    A trial that failed has what a report would give it, the lower of the untrained policy and its last evaluation; one
    that failed before any evaluation has the untrained policy's score under its seed, as another trial measured it.
    """
    wanted = {(candidate.number, seed) for candidate in search.candidates for seed in search.tuning.numbers}
    if {(one.number, one.seed) for one in tried if one.ended} != wanted:
        return None
    starts = {one.seed: one.untrained for one in tried if not math.isnan(one.untrained)}
    scores = []
    for candidate in search.candidates:
        own = [one for one in tried if one.number == candidate.number]
        values = [starts.get(one.seed, -math.inf) if math.isnan(one.score) else one.score for one in own]
        scores.append(sum(values) / len(values))
    return Found(search, tuple(tried), tuple(scores), search.candidates[scores.index(max(scores))])


def write(directory: Path, outcome: Found, currency: str) -> None:
    """Write tuning.json."""
    search = outcome.search
    by_number: dict[int, list[Tried]] = {}
    for one in outcome.tried:
        by_number.setdefault(one.number, []).append(one)
    write_json(directory / FILE, {
        "row": search.row,
        "settings": search.tuning.model_dump(mode="json"),
        "space": [dimension.described() for dimension in search.space],
        "trials": [
            {
                "number": candidate.number,
                "values": candidate.values,
                "stack": candidate.method,
                "score": finite(score),
                "seeds": {str(one.seed): told(one) for one in by_number[candidate.number]},
            }
            for candidate, score in zip(search.candidates, outcome.scores, strict=True)
        ],
        "chosen": {"number": outcome.chosen.number, "values": outcome.chosen.values, "stack": outcome.chosen.method},
        "cost": {
            "trials": len(outcome.tried),
            "failed": sum(one.status in FAILURES for one in outcome.tried),
            "currency": currency,
            "spent": outcome.spent,
            "seconds": math.fsum(one.seconds for one in outcome.tried),
        },
    }, durable=True)  # fmt: skip


def told(one: Tried) -> Mapping[str, Any]:
    """One search trial, as tuning.json says it."""
    return {"status": one.status, "score": finite(one.score), "spent": one.spent, "seconds": one.seconds}


def finite(value: float) -> float | None:
    """None for what JSON has no number for."""
    return value if math.isfinite(value) else None
