"""Prompts, verifiers and reward columns; programs run in the sandbox and nowhere else."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.tasks.base import Problem, Task
    from harness.tasks.load import load_task, task_names
    from harness.tasks.mixture import Mixture
    from harness.tasks.pool import PromptPool

__all__ = ["Mixture", "Problem", "PromptPool", "Task", "load_task", "task_names"]

_HOMES = {
    "Mixture": "mixture", "Problem": "base", "PromptPool": "pool", "Task": "base", "load_task": "load",
    "task_names": "load",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        msg = f"module 'harness.tasks' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"harness.tasks.{_HOMES[name]}"), name)
