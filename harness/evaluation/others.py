"""Tasks that a suite evaluates beside those it trains on: lm-eval's by name, the harness's own, YAML files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.evaluation.external import CODE_TASKS, Asking, check_names, evaluate_external
from harness.evaluation.measures import Measure, of_report
from harness.tasks.load import load_task, task_names

if TYPE_CHECKING:
    from harness.policies.policy import Policy
    from harness.training.config import EvaluationConfig

__all__ = ["BOTH", "check_others", "evaluate_others", "run_programs", "split_names"]

# Bundled mappings whose names lm-eval has too: asked as lm-eval asks, so that numbers compare with other people's.
BOTH = frozenset({"gsm8k", *CODE_TASKS})


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the harness's tasks (YAML files included), and names for lm-eval: its own where both have one."""
    known = set(task_names()) - BOTH
    ours = [name for name in names if name in known or name.endswith((".yaml", ".yml"))]
    return ours, [name for name in names if name not in ours]


def run_programs(names: Sequence[str]) -> bool:
    """Whether any of these tasks runs what a model writes; the data are not read."""
    if not names:
        return False
    ours, theirs = split_names(names)
    return any(name in CODE_TASKS for name in theirs) or any(load_task(name).needs_sandbox for name in ours)


def check_others(names: Sequence[str]) -> None:
    """Raise UsageError for a name that nobody knows, before anything runs; the data are not read."""
    ours, theirs = split_names(names)
    for name in ours:
        load_task(name)
    if theirs:
        check_names(theirs, known=task_names())


def evaluate_others(
    policy: Policy,
    config: EvaluationConfig,
    *,
    seed: int,
    sandbox: Any = None,
    system: str | None = None,
    k: int | None = None,
) -> list[dict[str, Any]]:
    """Every number about `config.tasks`, as records of task, metric, value, stderr and problems.

    Problems, samples and temperature are the section's; `tasks_max_tokens` None leaves the length to each task.
    """
    from harness.evaluation.bundled import evaluate

    ours, theirs = split_names(config.tasks)
    measures: list[Measure] = []
    if theirs:
        asking = Asking(
            limit=config.problems, seed=seed, batch=config.batch, max_tokens=config.tasks_max_tokens,
            shots=config.shots, samples=config.samples, temperature=config.temperature, k=k, system=system,
        )  # fmt: skip
        measures += evaluate_external(policy, theirs, asking, known=task_names(), sandbox=sandbox)
    if ours:
        alone = config.model_copy(update={"tasks": (), "max_tokens": config.tasks_max_tokens})
        measures += of_report(evaluate(policy, ours, alone, seed=seed, sandbox=sandbox, system=system, k=k))
    return [dataclasses.asdict(measure) for measure in measures]
