"""Any other task that lm-eval knows, by name, on a machine that can reach its data."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, UsageError, nearest

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Measure", "evaluate_external"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """One number that lm-eval reports: `stderr` is None where it gives none."""

    task: str
    metric: str
    value: float
    stderr: float | None
    problems: int


def evaluate_external(
    policy: Policy,
    names: Sequence[str],
    *,
    limit: int | None = None,
    seed: int = 0,
    batch: int = 64,
    max_tokens: int | None = None,
    include: Path | None = None,
    known: Sequence[str] = (),
) -> list[Measure]:
    """Run lm-eval's own tasks, groups or tags on `policy`; every number they report.

    `include` is a folder with lm-eval task files of the user's own; `known` are further names to suggest for an
    unknown one. Raises UsageError for an unknown name, HarnessError where the data cannot be reached or where lm-eval
    would run generated code in this process. Random states are kept.
    """
    import lm_eval
    from lm_eval.tasks import TaskManager

    from harness.evaluation.model import PolicyLM
    from harness.evaluation.quiet import preserved_random_states, silent

    with preserved_random_states(), silent():
        manager = TaskManager(include_path=include, include_defaults=False) if include else TaskManager()
        if include and any(name not in manager.task_index for name in names):
            manager = TaskManager(include_path=include)  # reading lm-eval's own files takes seconds: only where needed
        for name in names:
            if name not in manager.task_index:
                raise UsageError(f"unknown task {name!r}.{nearest(name, {*manager.all_tasks, *known})}")
        loaded = {}
        for name in names:
            with _explained(name):
                loaded[name] = manager.load([name])
        for name, tasks in loaded.items():
            unsafe = [one for one, task in tasks["tasks"].items() if getattr(task, "UNSAFE_CODE", False)]
            if unsafe:
                raise HarnessError(_refusal(name))
        model = PolicyLM(policy, seed=seed, batch=batch, max_tokens=max_tokens, chat=policy.chat)
        measures: list[Measure] = []
        for tasks in loaded.values():
            answer = lm_eval.evaluate(
                lm=model, task_dict=tasks, limit=limit, log_samples=False, apply_chat_template=policy.chat
            )
            measures += _measures(answer)
    return measures


def _measures(answer: dict[str, Any]) -> list[Measure]:
    found = []
    for task, row in answer["results"].items():
        count = answer.get("n-samples", {}).get(task, {}).get("effective", 0)
        for name, value in row.items():
            metric, _, chosen = name.partition(",")
            if not chosen or metric.endswith("_stderr") or not isinstance(value, int | float):
                continue
            stderr = row.get(f"{metric}_stderr,{chosen}")
            label = metric if chosen == "none" else f"{metric} ({chosen})"
            found.append(Measure(task, label, float(value), stderr if isinstance(stderr, float) else None, int(count)))
    return found


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """What failed while a task was loaded, in one line that says what the task needs."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        if "code_eval" in reason:
            raise HarnessError(_refusal(name)) from error
        if isinstance(error, OSError) or type(error).__name__ == "DatasetNotFoundError":
            raise HarnessError(
                f"task {name!r}: its data cannot be reached ({reason[:160]}); run it where the Hugging Face hub"
                " answers, or set HF_HOME to a cache that holds the data"
            ) from error
        if isinstance(error, ImportError):
            raise HarnessError(f"task {name!r} needs a package that is missing ({reason[:160]}); install it") from error
        raise HarnessError(
            f"task {name!r} cannot be loaded by lm-eval: {type(error).__name__}: {reason[:200]}"
        ) from error


def _refusal(name: str) -> str:
    return (
        f"task {name!r}: lm-eval would run generated code in this process, which the harness never does;"
        " give --tasks a file of the harness's own (verify: code) for the same data, which run in its sandbox"
    )
