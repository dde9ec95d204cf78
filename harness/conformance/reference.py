"""Reference plugins that methods are checked against: nothing, a z-score, and a wrapper whose effect is known."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness.host import hookimpl, method

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["REFERENCES", "Halve", "Nothing", "ZScore", "spoken"]


@method(name="conformance-nothing", identity=True)
class Nothing:
    """Leaves the defaults of the harness as they are."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self) -> Generator[None, Tensor, Tensor]:
        """What lies below."""
        return (yield)


@method(name="conformance-z-score")
class ZScore:
    """The plain z-score of the reward within its group: the yardstick of time."""

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """(r - mean) / (std + eps)."""
        return batch.groups.standardize(batch.reward)


@method(name="conformance-halve")
class Halve:
    """Halves every advantage, exactly."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self) -> Generator[None, Tensor, Tensor]:
        """Half of what lies below."""
        advantages = yield
        return advantages / 2


REFERENCES: tuple[type, ...] = (Nothing, ZScore, Halve)


def spoken(stack: str) -> str:
    """What a report calls a stack: the stand-in for none has a name that nobody else knows."""
    return "the harness's defaults" if stack == Nothing.info.slug else stack  # type: ignore[attr-defined]
