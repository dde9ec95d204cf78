"""Evaluating a policy on our tasks, through lm-eval, in one call."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.evaluation.report import METRICS, EvalReport
from harness.evaluation.session import Session, session
from harness.tasks.base import Task
from harness.tasks.load import load_task

if TYPE_CHECKING:
    from harness.policies.policy import Policy
    from harness.training.config import EvaluationConfig

__all__ = ["TASK_FILES", "evaluate"]

TASK_FILES = Path(__file__).parent / "tasks"
FILTER = "scored"


def evaluate(
    policy: Policy,
    tasks: Sequence[Task | str],
    config: EvaluationConfig,
    *,
    seed: int,
    sandbox: Any = None,
    system: str | None = None,
    k: int | None = None,
) -> EvalReport:
    """Greedy accuracy, pass@1, pass@k, length and truncation of `policy` on each task.

    `config.samples` completions a problem, keyed by (seed, problem, number): the same at every evaluation of a trial,
    so that a curve moves by the weights alone. `k` defaults to the number of samples. Tasks that run programs use
    `sandbox`, or one of their own for this call. Every random state is left as it was.

    Raises UsageError for an unknown task and for k above the number of samples.
    """
    loaded = [load_task(task) if isinstance(task, str) else task for task in tasks]
    named = {task.name: task for task in loaded}
    if len(named) < len(loaded) or not loaded:
        raise UsageError(f"evaluation needs tasks of distinct names, not {[task.name for task in loaded]}")
    k = config.samples if k is None else k
    if not 1 <= k <= config.samples:
        raise UsageError(
            f"pass@{k} needs at least {max(k, 1)} samples a problem and got {config.samples}; raise samples"
        )

    from harness.evaluation.quiet import preserved_random_states, silent

    with preserved_random_states(), contextlib.ExitStack() as stack:
        if sandbox is None and any(task.needs_sandbox for task in loaded):
            from harness.tasks.sandbox import Sandbox

            sandbox = stack.enter_context(Sandbox())
        stack.enter_context(silent())
        about = Session(named, config.split, config.problems, k, sandbox)
        report = _evaluate(policy, about, config, seed, system)
        if not config.tasks:
            return report
        from harness.evaluation.others import evaluate_others

        others = evaluate_others(policy, config, seed=seed, sandbox=sandbox, system=system, k=k)
        return dataclasses.replace(report, others=others)


def _evaluate(policy: Policy, about: Session, config: EvaluationConfig, seed: int, system: str | None) -> EvalReport:
    import lm_eval

    from harness.evaluation.model import PolicyLM

    rows: dict[str, dict[str, float]] = {}
    with session(about):
        for name, task in about.tasks.items():
            model = PolicyLM(
                policy, seed=seed, batch=config.batch, max_tokens=config.max_tokens or task.max_tokens,
                temperature=config.temperature, system=system,
            )  # fmt: skip
            loaded, before = _load(name, 1 + config.samples), getattr(task, "timeouts", 0)
            answer = lm_eval.evaluate(lm=model, task_dict=loaded, bootstrap_iters=0, log_samples=False)
            result = answer["results"][_name(name)]
            rows[name] = {metric: float(result[f"{metric},{FILTER}"]) for metric in METRICS}
            if task.answer_format is None:
                del rows[name]["strict"]
            rows[name] |= {"k": about.k, "problems": len(about.problems(name))}
            if (late := getattr(task, "timeouts", 0)) > before:
                rows[name]["timeouts"] = late - before  # answers that could not be compared in time: wrong
            if failed := about.failed.get(name):
                rows[name]["failed"] = failed  # answers on which the verifier failed: wrong
            if model.shortened:
                rows[name]["shortened"] = len(model.shortened)  # prompts that left no room for an answer
    return EvalReport(rows, about.items, about.examples)


def _load(task: str, repeats: int) -> Any:
    """The task as lm-eval's own object, from the bundled file, or from one written like it for any other task."""
    import yaml
    from lm_eval.tasks import TaskManager

    with tempfile.TemporaryDirectory() as directory:
        folders = [str(TASK_FILES)]
        if not (TASK_FILES / f"{_name(task)}.yaml").exists():
            text = {
                "include": str(TASK_FILES / "_harness.yaml"),
                "task": _name(task),
                "dataset_kwargs": {"task": task},
                "filter_list": [{"name": FILTER, "filter": [{"function": "harness_score", "task": task}]}],
            }
            Path(directory, "task.yaml").write_text(yaml.safe_dump(text))
            folders.append(directory)
        loaded = TaskManager(include_path=folders, include_defaults=False).load([_name(task)])
    for one in loaded["tasks"].values():
        one.set_config("repeats", repeats)
    return loaded


def _name(task: str) -> str:
    return f"harness_{task}"
