"""What a row may search: the settings that all methods tune, then the parameters of the plugins that it names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.host.ranges import Range
from harness.tuning.settings import SHARED, TuningConfig

if TYPE_CHECKING:
    from harness.host import Stack
    from harness.training.config import TrialConfig

__all__ = ["Dimension", "space"]

DECADE = math.sqrt(10.0)  # optimizer.lr by default: from the suite's over this to the suite's times this


@dataclass(frozen=True)
class Dimension:
    """One thing to search: `optimizer.lr`, or `dapo.clip_high`; `now` is its value without search."""

    name: str
    range: Range
    now: Any
    shared: bool

    @property
    def whole(self) -> bool:
        """Whether its values are integers."""
        return isinstance(self.now, int) and not isinstance(self.now, bool)

    def at(self, place: float) -> Any:
        """Its value at a place in [0, 1)."""
        return self.range.at(place, whole=self.whole)

    def described(self) -> dict[str, Any]:
        """As tuning.json says it."""
        if self.range.choices:
            return {"name": self.name, "choices": list(self.range.choices), "published": self.now}
        low, high, log = self.range.low, self.range.high, self.range.log
        return {"name": self.name, "low": low, "high": high, "log": log, "published": self.now}

    def __str__(self) -> str:
        return f"{self.name} {self.range}"


def space(stack: Stack, config: TrialConfig, tuning: TuningConfig) -> tuple[Dimension, ...]:
    """The dimensions of a row, shared ones first, always in the same order.

    Of the stack's own plugins, the parameters for which they declare a range (`@method(search=...)`) and which the
    stack does not spell: what is written is held. Bases that a plugin stands on keep what the plugin gave them.
    """
    ranges = shared_ranges(config, tuning)
    common = [Dimension(name, found, setting(config, name), shared=True) for name, found in ranges.items()]
    own = [
        Dimension(f"{seat.label}.{name}", found, getattr(seat.plugin, name), shared=False)
        for seat in stack.seats
        if seat.given
        for name, found in seat.info.search.items()
        if name not in seat.spec.params
    ]
    return (*common, *own)


def shared_ranges(config: TrialConfig, tuning: TuningConfig) -> Mapping[str, Range]:
    """What every row searches: as the suite says, else the learning rate over a decade around the suite's."""
    if tuning.shared is not None:
        return {name: found.range for name, found in tuning.shared.items()}
    lr = config.optimizer.lr
    low, high = (float(f"{end:.3g}") for end in (lr / DECADE, lr * DECADE))
    return {"optimizer.lr": Range.between(low, high, log=True)}


def setting(config: TrialConfig, name: str) -> Any:
    """The value of a shared setting such as optimizer.lr."""
    section, _, field = name.partition(".")
    assert section in SHARED
    return getattr(getattr(config, section), field)
