"""A method is a stack of plugins."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.errors import PluginError
from harness.host.entry import Entry
from harness.host.info import MethodInfo, needs_of
from harness.host.parsing import PluginSpec

if TYPE_CHECKING:
    from harness.host.caller import HookCaller

__all__ = ["Seat", "Stack"]


@dataclasses.dataclass(frozen=True, eq=False)
class Seat:
    """One plugin in its place: `label` is unique in the stack, `given` tells the user's own from bases put below.

    `digest` is that of the source files of its class and of the classes it inherits from.
    """

    label: str
    spec: PluginSpec
    entry: Entry
    plugin: Any
    digest: str
    given: bool

    @property
    def info(self) -> MethodInfo:
        return type(self.plugin).info


@dataclasses.dataclass(frozen=True, eq=False)
class Stack:
    """A method stack with fresh plugin instances, bottom to top; the defaults below them are not listed.

    `canonical` is the spelling that names it everywhere; `restored` are the objects that plugins may hold without
    having them saved, because the loop makes them again: `run` and the modules from `build`.
    """

    canonical: str
    seats: tuple[Seat, ...]
    restored: list[Any] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        return self.canonical

    @property
    def plugins(self) -> list[tuple[str, Any]]:
        """(label, instance) from bottom to top, bases included."""
        return [(seat.label, seat.plugin) for seat in self.seats]

    @cached_property
    def needs(self) -> frozenset[str]:
        """What any plugin of the stack asks the loop to compute."""
        return frozenset().union(*(needs_of(seat.plugin) for seat in self.seats))

    @property
    def clips(self) -> bool:
        """Whether the loss in force clips, so that a run in which no token lost its gradient is inert.

        It is the topmost `loss`, else the topmost `policy_loss`, or a wrapper of either that says so; never a direct
        one, of which no gradient per token is known.
        """
        if self.direct:
            return False
        hooks = [(seat.info, seat.info.hooks.get(hook)) for hook in ("policy_loss", "loss") for seat in self.seats]
        owner = next((info for info, kind in reversed(hooks) if kind == "plain"), None)
        return (owner is not None and owner.clips) or any(info.clips for info, kind in hooks if kind == "wrapper")

    @property
    def experimental(self) -> bool:
        """Whether a plugin of the stack is marked experimental."""
        return any(seat.info.experimental for seat in self.seats)

    @property
    def direct(self) -> str | None:
        """The label of a plugin whose loss needs the whole graph in one pass, or None."""
        return next((seat.label for seat in self.seats if seat.info.direct), None)

    def fresh(self) -> Stack:
        """The same stack with new plugins, which remember nothing."""
        seats = [
            dataclasses.replace(
                seat,
                plugin=type(seat.plugin)(
                    **{field.name: getattr(seat.plugin, field.name) for field in dataclasses.fields(seat.plugin)}
                ),
            )
            for seat in self.seats
        ]
        return Stack(self.canonical, tuple(seats))

    def caller(self, state: Any = None) -> HookCaller:
        """A fresh plugin manager over the defaults and this stack, with checks, blame and timing."""
        from harness.host.caller import HookCaller

        self.restored.clear()
        return HookCaller(self.seats, state, self.restored)

    def spec(self) -> dict[str, Any]:
        """What a run records of its method: every plugin's name, all parameters, version and source digest."""
        return {"canonical": self.canonical, "plugins": [_record(seat) for seat in self.seats]}

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """The state of every plugin by label, see `harness.host.state`. Raises PluginError for what cannot be saved."""
        from harness.host.state import save

        return {seat.label: save(seat.label, seat.plugin, self.restored) for seat in self.seats}

    def load_state_dict(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Restore what `state_dict` gave, after start and build. Raises PluginError if the plugins differ."""
        from harness.host.state import load

        if set(state) != {seat.label for seat in self.seats}:
            raise PluginError(f"the checkpoint holds the plugins {sorted(state)}, the stack is {self.canonical}")
        for seat in self.seats:
            load(seat.plugin, state[seat.label])


def _record(seat: Seat) -> dict[str, Any]:
    return {
        "label": seat.label,
        "name": seat.entry.slug,
        "given": seat.given,
        "params": {field.name: getattr(seat.plugin, field.name) for field in dataclasses.fields(seat.plugin)},
        "distribution": seat.entry.distribution,
        "version": seat.entry.version,
        "digest": seat.digest,
    }
