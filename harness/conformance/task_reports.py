"""Tasks for `harness check`: what a target offers of them, and their checks as a report like a method's."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.results import Finding, Report
from harness.conformance.tasks import TASK_CHECKS
from harness.errors import CheckFailed, HarnessError, UsageError, nearest, told

if TYPE_CHECKING:
    from harness.tasks.base import Task

__all__ = ["TaskSubject", "check_task", "selected", "task_subjects", "tasks_of"]


@dataclasses.dataclass(frozen=True)
class TaskSubject:
    """A task under check: its name, how it is made, and what the user wrote for it."""

    name: str
    make: Callable[[], Task]
    given: str


def task_subjects(target: str) -> list[TaskSubject]:
    """The tasks that an installed name, a .py file with Task classes or a YAML file stands for; [] for anything else.

    Raises UsageError for a file that cannot be run.
    """
    from harness.tasks.load import load_task, task_names

    if target.endswith((".yaml", ".yml")) or target in task_names():
        return [TaskSubject(target, lambda: load_task(target), target)]
    if target.endswith(".py") and Path(target).is_file() and "Task" in Path(target).read_text(encoding="utf-8"):
        return [TaskSubject(kind.__name__, kind, target) for kind in _classes(Path(target))]
    return []


def tasks_of(distribution: str) -> list[TaskSubject]:
    """The tasks that an installed distribution offers."""
    from harness.host.autoload import normal
    from harness.host.discovery import TASKS, points
    from harness.tasks.load import load_task

    names = sorted({point.name for point, owner, _ in points(TASKS) if normal(owner) == normal(distribution)})
    return [TaskSubject(name, lambda name=name: load_task(name), name) for name in names]  # type: ignore[misc]


def selected(only: Sequence[str]) -> list[str]:
    """The checks of tasks that are named, or all. Raises UsageError for a name that is none."""
    for name in only:
        if name not in TASK_CHECKS:
            raise UsageError(f"no check {name!r} of tasks.{nearest(name, TASK_CHECKS)}")
    return [name for name in TASK_CHECKS if name in only or not only]


def check_task(subject: TaskSubject, only: Sequence[str] = ()) -> Report:
    """Every check of a task, or those named. A task that cannot be made is one failure."""
    names = selected(only)
    try:
        task = subject.make()
    except Exception as fault:  # noqa: BLE001 - an author's code may raise anything
        blocked = [Finding(name, "n.a.", f"not run: see {names[0]}") for name in names[1:]]
        return Report(
            subject.name, (Finding(names[0], "FAIL", told(fault), f"harness check {subject.given}"), *blocked)
        )
    return Report(subject.name, tuple(_finding(subject, task, name) for name in names))


def _finding(subject: TaskSubject, task: Task, name: str) -> Finding:
    check, began = TASK_CHECKS[name], time.perf_counter()
    status, text = "pass", " ".join((check.__doc__ or "").split()).rstrip(".")
    try:
        check(task)
    except CheckFailed as fault:
        status, text = "FAIL", str(fault)
    except Exception as fault:  # noqa: BLE001 - an author's code may raise anything
        status, text = "FAIL", f"{told(fault)}{'' if isinstance(fault, HarnessError) else _line(fault)}"
    again = f"harness check {subject.given} --only {name}" if status == "FAIL" else ""
    return Finding(name, status, text, again, time.perf_counter() - began)  # type: ignore[arg-type]


def _line(fault: BaseException) -> str:
    import traceback

    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f" ({frame.filename}:{frame.lineno})"


def _classes(path: Path) -> list[type[Task]]:
    """The Task classes that a file defines. Raises UsageError where it cannot be run."""
    from harness.tasks.base import Task

    name = f"_harness_task_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} cannot be run: {told(error)}") from error
    found = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Task)]
    own = [kind for kind in found if kind.__module__ == name and not inspect.isabstract(kind)]
    bases = {base for kind in own for base in kind.__mro__[1:]}
    return [kind for kind in dict.fromkeys(own) if kind not in bases]
