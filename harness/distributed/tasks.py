"""Scoring by one rank for all: programs may time out, and judges may waver, so that two ranks would not agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.distributed.world import World

__all__ = ["LedTask"]


class LedTask:
    """A task of which only the leader scores; everything else is the task's own."""

    def __init__(self, task: Any, world: World) -> None:
        self._task = task
        self._world = world
        self.needs_sandbox = bool(task.needs_sandbox) and world.leader

    def __getattr__(self, name: str) -> Any:
        """What is not here is the task's."""
        return getattr(self._task, name)

    def score_texts(self, *args: Any, **options: Any) -> Any:
        """The leader's reward columns, on every rank."""
        return self._world.first(lambda: self._task.score_texts(*args, **options))
