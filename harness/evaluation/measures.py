"""Numbers that an evaluation on other people's tasks gives: as lm-eval reports them, and pass@k over its verdicts."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.evaluation.report import pass_at_k

if TYPE_CHECKING:
    from harness.evaluation.answers import Answer
    from harness.evaluation.report import EvalReport

__all__ = ["Measure", "of_answers", "of_report", "of_samples", "reported"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """One number about one task: `stderr` is None where none is known."""

    task: str
    metric: str
    value: float
    stderr: float | None
    problems: int


def reported(answer: Mapping[str, Any]) -> list[Measure]:
    """Every number that lm-eval reports."""
    found = []
    for task, row in answer["results"].items():
        count = answer.get("n-samples", {}).get(task, {}).get("effective", 0)
        for name, value in row.items():
            metric, _, chosen = name.partition(",")
            if not chosen or metric.endswith("_stderr") or not isinstance(value, int | float):
                continue
            stderr = row.get(f"{metric}_stderr,{chosen}")
            known = stderr if isinstance(stderr, float) else None
            found.append(Measure(task, _label(metric, chosen), float(value), known, int(count)))
    return found


def of_samples(turns: Sequence[Mapping[str, Any]], k: int) -> list[Measure]:
    """pass@1 and pass@k of every metric that is 0 or 1, over the documents of the turns' answers (unbiased)."""
    verdicts: dict[tuple[str, str, str], dict[Any, list[float]]] = {}
    for turn in turns:
        for task, documents in turn["samples"].items():
            for document in documents:
                for metric in document["metrics"]:
                    place = verdicts.setdefault((task, metric, document["filter"]), {})
                    place.setdefault(document["doc_id"], []).append(document[metric])
    found = []
    for (task, metric, chosen), rows in verdicts.items():
        if not all(_is_verdict(value) for row in rows.values() for value in row):
            continue
        for one in dict.fromkeys((1, k)):
            values = [pass_at_k(len(row), int(sum(row)), one) for row in rows.values()]
            found.append(Measure(task, f"{_label(metric, chosen)} pass@{one}", *_mean(values), len(values)))
    return found


def of_answers(answers: Mapping[str, Sequence[Answer]], shortened: Mapping[str, int]) -> list[Measure]:
    """Mean length in tokens, the share that the limit cut, and how many prompts did not fit, of every task."""
    found = []
    for task, texts in answers.items():
        lengths, count = [float(text.tokens) for text in texts], len(texts)
        found.append(Measure(task, "length", *_mean(lengths), count))
        found.append(Measure(task, "truncated", *_mean([float(text.truncated) for text in texts]), count))
        if shortened.get(task):
            found.append(Measure(task, "prompts shortened", float(shortened[task]), None, count))
    return found


def of_report(report: EvalReport) -> list[Measure]:
    """An evaluation on a task of the harness, in the same form."""
    names = {"accuracy": "accuracy", "pass_at_1": "pass@1", "pass_at_k": "pass@{k}"}
    names |= {"strict": "pass@1 strict", "length": "length"}
    names |= {"truncated": "truncated", "shortened": "prompts shortened", "timeouts": "comparisons timed out"}
    names |= {"failed": "verdicts missing"}
    return [
        Measure(task, label.format(k=int(row["k"])), float(row[metric]), None, int(row["problems"]))
        for task, row in report.tasks.items()
        for metric, label in names.items()
        if metric in row and not (metric == "pass_at_k" and row["k"] == 1)
    ]


def _label(metric: str, chosen: str) -> str:
    return metric if chosen == "none" else f"{metric} ({chosen})"


def _is_verdict(value: Any) -> bool:
    """Whether a metric of one answer is 0 or 1; some are pairs, texts or dictionaries."""
    return isinstance(value, numbers.Number) and value in {0, 1}


def _mean(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error; none for a single value."""
    count, mean = len(values), math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(spread / (count - 1) / count) if count > 1 else None
