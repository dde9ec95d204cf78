"""A place of a Ray cluster as the driver sees it: an actor, the trial in it, and the one call it has not answered."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from harness.suites.worker import Job, silence_limit

__all__ = ["Seat", "why"]


@dataclasses.dataclass(eq=False)
class Seat:
    """An actor and its trial. `asked` is what it was asked last: begin, poll or parcel."""

    actor: Any
    job: Job
    asked: str = "begin"
    call: Any = None
    heard: float = dataclasses.field(default_factory=time.monotonic)
    due: float = 0.0  # when to ask again
    node: str = ""
    shared: bool = True
    checkpoint: str = ""
    end: dict[str, Any] | None = None

    def ask(self, what: str) -> None:
        """Call the actor; the answer is waited for elsewhere."""
        self.asked, self.call = what, getattr(self.actor, what).remote()

    def silent(self, now: float) -> bool:
        """Whether it has not answered for so long that a local worker would count as hung."""
        return self.asked != "begin" and now - self.heard > silence_limit(self.job.config.limits)


def why(error: Exception, node: str) -> str:
    """What Ray says of a lost actor, in one line: the last of its lines tells most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in reversed(lines) if "Error" in line or "died" in line), lines[-1] if lines else "")
    return f"the worker on {node or 'a node'} is gone: {text[:200]}"
