"""What an evaluation is about, for the functions that lm-eval calls by name."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.tasks.base import Problem, Split, Task

__all__ = ["Session", "session", "session_of"]


@dataclasses.dataclass
class Session:
    """What one evaluation is about, and what it collects."""

    tasks: Mapping[str, Task]
    split: Split = "test"
    limit: int | None = None
    k: int = 1
    sandbox: Any = None
    failed: dict[str, int] = dataclasses.field(default_factory=dict)  # task -> verdicts that its verifier did not give
    items: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    examples: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def problems(self, task: str) -> Sequence[Problem]:
        """The problems that are asked."""
        return self.tasks[task].problems(self.split, self.limit)


_current: contextvars.ContextVar[Session | None] = contextvars.ContextVar("session", default=None)


@contextlib.contextmanager
def session(current: Session) -> Iterator[Session]:
    """Make `current` what the functions below work on."""
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)


def session_of(task: str) -> Session:
    """The evaluation that is running; outside of one, a task loaded by name on its whole test split."""
    current = _current.get()
    if current is None or task not in current.tasks:
        from harness.tasks.load import load_task

        return Session({task: load_task(task)})
    return current
