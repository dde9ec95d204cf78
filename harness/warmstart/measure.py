"""What a policy does on the two bundled tasks: pass rates, behaviours, accuracy by behaviour and by kind of problem."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import CheckFailed
from harness.policies.policy import Policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler
from harness.tasks.base import Problem, Split, Task
from harness.tasks.code import CodeTask
from harness.tasks.math import MathTask
from harness.warmstart.behaviours import code_behaviour, math_behaviour

__all__ = ["TARGET", "TaskReport", "check", "measure"]

TARGET = (0.20, 0.40)  # where the validation pass rate of a warm start has to be


@dataclasses.dataclass(frozen=True)
class TaskReport:
    """One task: the pass rate at temperature 1, means of all columns, and (share, accuracy) per behaviour and kind."""

    task: str
    pass_rate: float
    length: float
    truncated: float
    columns: Mapping[str, float]
    behaviours: Mapping[str, tuple[float, float]]
    kinds: Mapping[str, tuple[float, float]]


_TASKS: tuple[tuple[type[Task], Callable[[str], str], Callable[[Problem], str]], ...] = (
    (MathTask, math_behaviour, lambda problem: f"{len(problem.data['terms'])} operands"),
    (CodeTask, code_behaviour, lambda problem: problem.data["family"]),
)


def measure(
    policy: Policy, sandbox: Any, *, split: Split = "validation", problems: int = 500, samples: int = 4, seed: int = 0
) -> list[TaskReport]:
    """A report per task, from `samples` completions at temperature 1 of the first `problems` problems of a split."""
    reports = []
    for make, behaviour, kind in _TASKS:
        task = make()
        chosen = task.problems(split, problems)
        requests = [
            Request(key=p.key, prompt_ids=tuple(policy.encode_prompt(p.prompt)), n=samples, max_tokens=task.max_tokens)
            for p in chosen
        ]
        found = Sampler(policy).generate(requests, seed=seed, step=0, stream="warmstart")
        asked = [chosen[i] for i in found.index.tolist()]
        columns = task.score_texts(asked, found.texts, found.truncated.tolist(), sandbox=sandbox)
        right = task.correct(columns)
        reports.append(
            TaskReport(
                task=task.name,
                pass_rate=float(right.mean()),
                length=float(found.lengths.double().mean()),
                truncated=float(found.truncated.double().mean()),
                columns={name: float(values.mean()) for name, values in columns.items()},
                behaviours=_by([behaviour(text) for text in found.texts], right),
                kinds=_by([kind(problem) for problem in asked], right),
            )
        )
    return reports


def check(reports: Sequence[TaskReport]) -> None:
    """Raise CheckFailed if a pass rate lies outside the target."""
    for report in reports:
        if not TARGET[0] <= report.pass_rate <= TARGET[1]:
            raise CheckFailed(
                f"warm-up ended at a validation pass rate of {report.pass_rate:.3f} on {report.task};"
                f" it has to be within {TARGET[0]:.2f} and {TARGET[1]:.2f}: change --steps"
            )


def _by(names: Sequence[str], right: np.ndarray) -> dict[str, tuple[float, float]]:
    """Share and accuracy of every name, the most frequent first."""
    rows = defaultdict(list)
    for name, verdict in zip(names, right.tolist(), strict=True):
        rows[name].append(verdict)
    order = sorted(rows, key=lambda name: (-len(rows[name]), name))
    return {name: (len(rows[name]) / len(names), sum(rows[name]) / len(rows[name])) for name in order}
