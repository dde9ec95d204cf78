"""What can be known to be wrong with a suite before anything runs: model, tasks, reward names, context, sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import Faults, HarnessError, UsageError, nearest
from harness.suites.missing import check_policy
from harness.suites.room import check_room
from harness.suites.schema import Suite
from harness.tasks.base import SPLITS, Task
from harness.tasks.placing import shared

__all__ = ["check_suite"]


def check_suite(suite: Suite) -> list[str]:
    """What a reader should know of the tasks' data (rows that were left out and why), a line each.

    Raises UsageError (a name is unknown) or HarnessError (this machine cannot), in one line.
    """
    from harness.policies.registry import resolve
    from harness.policies.size import check_files
    from harness.tasks.load import load_task

    _refuse_sharing(suite)
    tasks = [load_task(share.task, share.options) for share in suite.tasks]
    if suite.tuning is not None:
        for task in tasks:
            if not task.problems(suite.tuning.split, 1):
                raise UsageError(f"tuning: the task {task.name} has no {suite.tuning.split} problems to choose by")
    for task in tasks:
        if not task.problems("train", 1):
            why = f" ({'; '.join(task.notes())})" if task.notes() else ""
            raise UsageError(f"task {task.name!r} has no training problems{why}; give it at least one")
        if not task.problems(suite.evaluation.split, 1):
            raise UsageError(
                f"evaluation: the task {task.name!r} has no {suite.evaluation.split} problems; give it some"
            )
        _refuse_overlap([task], f"task {task.name!r} has")
    if len(tasks) > 1:
        _refuse_overlap(tasks, "the tasks together have")
    columns = {column for task in tasks for column in (*task.columns, *task.token_column_names)}
    unknown = [name for name in suite.reward_weights if name not in columns]
    if unknown:
        said = "reward_weights: no task of the suite has a column"
        raise Faults.of([UsageError(f"{said} {name!r}.{nearest(name, columns)}") for name in unknown])
    check_files(resolve(suite.policy.model, suite.policy.revision))
    check_policy(suite)
    notes: list[str] = []
    programs = any(getattr(task, "needs_sandbox", False) for task in tasks)
    check_room(suite, tasks)
    if suite.evaluation.tasks:
        from harness.evaluation.others import check_others, run_programs
        from harness.evaluation.overlap import overlap_notes

        check_others(suite.evaluation.tasks)
        notes = overlap_notes(suite.evaluation, [problem for task in tasks for problem in task.problems("train")])
        programs = programs or run_programs(suite.evaluation.tasks)
    if programs:
        _try_sandbox(suite)
    if not any((dict(task.reward_weights) | suite.reward_weights).get(column) for task in tasks for column in columns):
        notes.append("reward_weights: every column of the tasks weighs 0, so only rewards that a method adds can train")
    return [*(note for task in tasks for note in task.notes()), *notes]


def _refuse_sharing(suite: Suite) -> None:
    """What does not go with weights divided over ranks, said before all trials fail of it."""
    if not suite.resources.sharded or suite.resources.ranks == 1:
        return
    if suite.policy.lora is not None:
        raise UsageError("resources.sharded does not go with policy.lora: drop one of them")
    if suite.sampler.engine != "builtin":
        raise UsageError("resources.sharded is for sampler.engine: builtin, as others read whole weights; drop one")


def _refuse_overlap(tasks: Sequence[Task], who: str) -> None:
    """Splits that share problems, told apart by the hash of the normalised prompt, measure memory.

    Between tasks that goes for what is trained on and asked later; one problem may be tested twice.
    """
    problems = {split: [problem for task in tasks for problem in task.problems(split)] for split in SPLITS}
    both = shared(problems, questions=len(tasks) > 1)
    said = ", ".join(f"{pair} {count}" for pair, count in both.items() if len(tasks) == 1 or pair.startswith("train"))
    if said:
        raise UsageError(f"{who} problems in two splits ({said}); split them by a hash of the problem")


def _try_sandbox(suite: Suite) -> None:
    """Start the sandbox once: a refusal must stop the suite here, not fail every trial."""
    from harness.tasks.sandbox import Sandbox

    try:
        Sandbox(suite.sandbox).close()
    except HarnessError as error:
        raise HarnessError(f"suite {suite.name}: {error}") from None
