"""Finding a task by name (entry-point group `harness.tasks`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import UsageError, nearest
from harness.host.autoload import Autoload
from harness.host.discovery import TASKS, points
from harness.tasks.base import Task

__all__ = ["load_task", "task_names"]


def task_names() -> tuple[str, ...]:
    """Every installed task and bundled data set, sorted."""
    from harness.tasks.mapping import bundled

    autoload = Autoload.read()
    installed = {entry.name for entry, owner, _ in points(TASKS) if not autoload.refusal(owner)}
    return tuple(sorted(installed.union(bundled())))


def load_task(name: str, options: Mapping[str, Any] | None = None) -> Task:
    """The task of a name, constructed with `options`; a path to a YAML file gives the data set task that it describes.

    The name of a bundled data set, such as gsm8k, is short for `dataset` with `like: gsm8k`; an installed task of that
    name goes before it.

    Raises UsageError for an unknown name, a name that two distributions offer, and options that it does not take.
    """
    from harness.tasks.hf import DatasetTask
    from harness.tasks.mapping import bundled

    if name.endswith((".yaml", ".yml")):
        return _weighed(DatasetTask(name, **(options or {})))
    offers = [(entry, owner, Autoload.read().refusal(owner)) for entry, owner, _ in points(TASKS) if entry.name == name]
    found = [entry for entry, _, refusal in offers if not refusal]
    if offers and not found:
        raise UsageError(f"task {name!r} of {offers[0][1]} is disabled: {offers[0][2]}")
    if not found and name in bundled():
        return _weighed(DatasetTask(like=name, **(options or {})))
    if not found:
        raise UsageError(f"unknown task {name!r}.{nearest(name, task_names())}")
    if len({entry.value for entry in found}) > 1:
        owners = " and ".join(sorted(entry.dist.name if entry.dist else entry.value for entry in found))
        raise UsageError(f"task {name!r} is offered by {owners}; uninstall one of them")
    try:
        factory = found[0].load()
    except Exception as error:
        raise UsageError(f"task {name!r} cannot be imported from {found[0].value}: {error}") from error
    try:
        task = factory(**(options or {}))
    except TypeError as error:
        fault = _misfit(factory, options or {}) or f"does not take these options: {error}"
        raise UsageError(f"task {name!r} {fault}") from error
    if not isinstance(task, Task):
        raise UsageError(f"task {name!r} ({found[0].value}) is not a harness.tasks.base.Task")
    return _weighed(task)


def _misfit(factory: Callable[..., object], options: Mapping[str, Any]) -> str:
    """In the words of a suite file: the option that is unknown, else the one that is missing, if that is the fault."""
    known = inspect.signature(factory).parameters
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return ""
    unknown = next((option for option in options if option not in known), None)
    if unknown is not None:
        return f"has no option {unknown!r}.{nearest(unknown, known)}"
    missing = next((key for key, one in known.items() if one.default is one.empty and key not in options), None)
    return f"needs the option {missing!r}; set it under options: in tasks" if missing else ""


def _weighed(task: Task) -> Task:
    """The task, if its reward weights are those of its columns: a misspelt one would weigh nothing."""
    columns = (*task.columns, *task.token_column_names)
    for column in task.reward_weights:
        if column not in columns:
            raise UsageError(
                f"task {task.name!r}: reward_weights names no column of it: {column!r}.{nearest(column, columns)}"
            )
    return task
