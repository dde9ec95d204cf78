"""Any other task that lm-eval knows, by name, on a machine that can reach its data; code runs in our own sandbox."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, UsageError, nearest
from harness.evaluation.measures import Measure, of_answers, of_report, of_samples, reported

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["CODE_TASKS", "Asking", "check_names", "documents", "evaluate_external"]

# Names under which lm-eval would run generated code in its own process: the same data, scored in the sandbox.
CODE_TASKS = {"humaneval": "humaneval", "mbpp": "mbpp"}
FEWSHOT_SEED = 1234  # lm-eval's own: every method and seed sees the same examples


@dataclasses.dataclass(frozen=True)
class Asking:
    """How tasks are asked. None leaves a choice to the task: its own limit, its own number of examples.

    `samples` completions a problem at `temperature`, beside the task's own answer, for pass@1 and pass@`k`.
    """

    limit: int | None = None
    seed: int = 0
    batch: int = 64
    max_tokens: int | None = None
    shots: int | None = None
    samples: int = 0
    temperature: float = 1.0
    k: int | None = None
    system: str | None = None


def evaluate_external(
    policy: Policy,
    names: Sequence[str],
    asking: Asking | None = None,
    *,
    include: Path | None = None,
    known: Sequence[str] = (),
    sandbox: Any = None,
) -> list[Measure]:
    """Run lm-eval's own tasks, groups or tags on `policy`; every number they report.

    `include` is a folder with lm-eval task files of the user's own; `known` are further names to suggest for an
    unknown one; `sandbox` runs the programs of code tasks (default: one for this call). Raises UsageError for an
    unknown name, HarnessError where the data cannot be reached or where lm-eval would run generated code in this
    process. Random states are kept.
    """
    from harness.evaluation.quiet import preserved_random_states, silent

    asking = asking or Asking()
    names = check_names(names, include=include, known=known)
    measures: list[Measure] = []
    with preserved_random_states(), silent():
        manager = _manager(include, names)
        loaded = {name: _loaded(manager, name, asking) for name in names if name in manager.task_index}
        for name in names:
            if name in loaded:
                measures += _asked(policy, loaded[name], asking)
    for name in names:
        if name not in loaded:
            measures += _programs(policy, CODE_TASKS[name], asking, sandbox)
    return measures


def check_names(names: Sequence[str], *, include: Path | None = None, known: Sequence[str] = ()) -> tuple[str, ...]:
    """The names, each once. Raises UsageError for one that neither lm-eval nor `include` knows."""
    names = tuple(dict.fromkeys(names))
    manager = _manager(include, names)
    for name in names:
        if name not in manager.task_index and name not in CODE_TASKS:
            raise UsageError(f"unknown task {name!r}.{nearest(name, {*manager.all_tasks, *CODE_TASKS, *known})}")
    return names


def documents(name: str, limit: int | None = None, *, known: Sequence[str] = ()) -> list[tuple[Mapping[str, Any], str]]:
    """The first `limit` documents that a task, group or tag of lm-eval asks, each with its prompt without examples.

    Raises UsageError for an unknown name, HarnessError where the data cannot be reached. Random states are kept.
    """
    from harness.evaluation.quiet import preserved_random_states, silent

    names = check_names([name], known=known)
    with preserved_random_states(), silent():
        loaded = _loaded(_manager(None, names), name, Asking())
        tasks = list(loaded["tasks"].values())
        return [(doc, str(task.doc_to_text(doc))) for task in tasks for doc in list(task.eval_docs)[:limit]]


def _manager(include: Path | None, names: Sequence[str]) -> Any:
    """lm-eval's index of the tasks that are asked for. Reading its own files takes seconds: only where needed."""
    asked = [name for name in names if name not in CODE_TASKS]
    small = _index(include, defaults=False)
    return small if all(name in small.task_index for name in asked) else _index(include, defaults=True)


@functools.lru_cache(maxsize=4)
def _index(include: Path | None, *, defaults: bool) -> Any:
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=include, include_defaults=defaults)
    if defaults:  # these would run generated code here
        for name in CODE_TASKS:
            manager.task_index.pop(name, None)
    return manager


def _loaded(manager: Any, name: str, asking: Asking) -> Mapping[str, Any]:
    with _explained(name):
        loaded: Mapping[str, Any] = manager.load([name])
    for task in loaded["tasks"].values():
        if getattr(task, "UNSAFE_CODE", False):
            raise HarnessError(_refusal(name))
        if asking.shots is not None:
            task.set_config("num_fewshot", asking.shots)
        task.set_fewshot_seed(FEWSHOT_SEED)
    return loaded


def _asked(policy: Policy, loaded: Mapping[str, Any], asking: Asking) -> list[Measure]:
    """The task's own numbers, then pass@k where it generates."""
    import lm_eval

    from harness.evaluation.sampled import SampledLM

    model = SampledLM(
        policy, seed=asking.seed, batch=asking.batch, max_tokens=asking.max_tokens, chat=policy.chat,
        system=asking.system, samples=asking.samples, temperature=asking.temperature,
    )  # fmt: skip

    def turn(number: int, tasks: Mapping[str, Any]) -> dict[str, Any]:
        model.turn = number
        return dict(
            lm_eval.evaluate(
                lm=model, task_dict=tasks, limit=asking.limit, log_samples=number > 0,
                apply_chat_template=policy.chat, system_instruction=asking.system if policy.chat else None,
            )
        )  # fmt: skip

    measures = reported(turn(0, loaded))
    writing = {name: task for name, task in loaded["tasks"].items() if task.OUTPUT_TYPE == "generate_until"}
    if writing and asking.samples:
        only = {"tasks": writing, "groups": {}}
        turns = [turn(number, only) for number in range(1, asking.samples + 1)]
        measures += of_samples(turns, min(asking.k or asking.samples, asking.samples))
    return measures + of_answers(model.answers, Counter(task for task, _ in model.shortened))


def _programs(policy: Policy, like: str, asking: Asking, sandbox: Any) -> list[Measure]:
    """A code task, from the bundled mapping of its data, in the sandbox."""
    from harness.evaluation.bundled import evaluate
    from harness.tasks.hf import DatasetTask
    from harness.training.config import EvaluationConfig

    task = DatasetTask(like=like, sandbox=getattr(sandbox, "mode", "namespaces"))
    problems = asking.limit or len(task.problems("test"))
    config = EvaluationConfig(
        problems=problems, samples=max(asking.samples, 1), temperature=asking.temperature,
        max_tokens=asking.max_tokens, batch=asking.batch,
    )  # fmt: skip
    k = min(asking.k or config.samples, config.samples)
    return of_report(evaluate(policy, [task], config, seed=asking.seed, sandbox=sandbox, system=asking.system, k=k))


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
        f" {' and '.join(CODE_TASKS)} run in its sandbox, other data by a task file (verify: code)"
    )
