"""What the bundled task files call: documents, a filter that scores all answers at once, and the metrics.

lm-eval builds its task objects from YAML and calls functions by name, so what an evaluation is about (task objects,
split, limit, sandbox) reaches them through `session`. Outside of one (lm-eval's own command line on our files) they
load the task by name, take the whole test split and start a sandbox of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from harness.evaluation.answers import Answer
from harness.evaluation.report import pass_at_k
from harness.evaluation.session import Session, session_of
from harness.tasks.base import Problem, Task
from harness.tasks.verdicts import missing, scored

__all__ = ["documents", "process_results"]

EXAMPLES = 4  # problems per task whose completions are shown
LONGEST = 200  # characters of the greedy answer that an item keeps


def documents(task: str, **_: Any) -> dict[str, datasets.Dataset]:
    """The fixed problems of a task as lm-eval wants them, under the split name "test": task, key, prompt, answer."""
    problems = session_of(task).problems(task)
    rows = [{"task": task, "key": p.key, "prompt": p.prompt, "answer": str(p.answer)} for p in problems]
    return {"test": datasets.Dataset.from_list(rows)}


@register_filter("harness_score")
class Score(Filter):
    """Answers become metrics: all problems are scored in one call, so that programs share sandbox batches."""

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task

    def apply(
        self, resps: Sequence[Sequence[Answer]] | Iterable[Any], docs: Sequence[Mapping[str, Any]]
    ) -> Iterable[Any]:
        """Per document [greedy answer, samples ...] -> its metrics."""
        current = session_of(self.task)
        task = current.tasks[self.task]
        known = {problem.key: problem for problem in current.problems(self.task)}
        answers = [[_ended(task, answer) for answer in row] for row in resps]
        problems = [known[doc["key"]] for doc in docs]
        flat = [(problem, answer) for problem, row in zip(problems, answers, strict=True) for answer in row]
        texts, cut = [str(answer) for _, answer in flat], [getattr(answer, "truncated", False) for _, answer in flat]
        with contextlib.ExitStack() as stack:
            sandbox = current.sandbox
            if sandbox is None and task.needs_sandbox:
                from harness.tasks.sandbox import Sandbox

                sandbox = stack.enter_context(Sandbox())
            columns = scored(task, [problem for problem, _ in flat], texts, cut, sandbox=sandbox)
        current.failed[self.task] = current.failed.get(self.task, 0) + missing(task, columns)
        correct = task.correct(columns)
        formed = task.strict(columns)
        verdicts, strict = (
            [[next(right) for _ in row] for row in answers]
            for right in (iter(correct.tolist()), iter((correct if formed is None else formed).tolist()))
        )
        paid = iter(_rewards(task, columns).tolist())
        rewards = [[next(paid) for _ in row] for row in answers]
        for problem, *row in zip(problems[:EXAMPLES], answers, verdicts, rewards, strict=False):
            current.examples += [_example(problem, *one) for one in zip(*row, strict=True)][:3]
        return [_metrics(current, *found) for found in zip(problems, answers, verdicts, strict, strict=True)]


def _ended(task: Task, answer: Answer | str) -> Answer:
    """The answer up to where the task says that it ends; what is no answer of ours has its characters for tokens."""
    text, truncated = task.ended(str(answer), bool(getattr(answer, "truncated", False)))
    return Answer.of(text, getattr(answer, "tokens", len(answer)), truncated)


def _metrics(
    current: Session, problem: Problem, answers: Sequence[Answer], right: Sequence[bool], strict: Sequence[bool]
) -> dict[str, float]:
    sampled, correct = answers[1:], sum(right[1:])
    current.items.append(
        {
            "task": problem.task,
            "key": problem.key,
            "greedy": right[0],
            "correct_samples": correct,
            "samples": len(sampled),
            "text": _shortened(str(answers[0])),
        }
    )
    shown = sampled or answers
    return {
        "accuracy": float(right[0]),
        "pass_at_1": pass_at_k(len(sampled), correct, 1) if sampled else float(right[0]),
        "pass_at_k": pass_at_k(len(sampled), correct, current.k) if sampled else float(right[0]),
        "strict": sum(strict[1:]) / len(sampled) if sampled else float(strict[0]),
        "length": sum(getattr(answer, "tokens", len(answer)) for answer in shown) / len(shown),
        "truncated": sum(getattr(answer, "truncated", False) for answer in shown) / len(shown),
    }


def _shortened(text: str) -> str:
    """A greedy answer as an item keeps it: enough to see what was said, and a bound on the size of a trial's files."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _rewards(task: Task, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """What each completion [M] earns in training by the task's own weights; what does not apply adds nothing."""
    weighted = [task.reward_weights.get(name, 0.0) * np.nan_to_num(column) for name, column in columns.items()]
    return np.sum(weighted, axis=0)


def _example(problem: Problem, answer: Answer, right: bool, reward: float) -> dict[str, Any]:
    return {
        "task": problem.task, "key": problem.key, "prompt": problem.prompt, "text": str(answer),
        "answer": _shortened(str(problem.answer)), "correct": right, "reward": round(reward, 4),
        "tokens": getattr(answer, "tokens", None), "truncated": getattr(answer, "truncated", False),
    }  # fmt: skip


def process_results(doc: Mapping[str, Any], results: Sequence[dict[str, float]]) -> dict[str, float]:  # noqa: ARG001
    """lm-eval's last step: the filter has done the work."""
    return results[0]
