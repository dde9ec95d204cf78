"""A method is a stack of plugins: bases put below, canonical order, and whatever cannot work refused."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import PluginError, UnusablePlugin, UsageError, told
from harness.host.catalogue import Catalogue
from harness.host.claims import check_conflicts
from harness.host.discovery import discover
from harness.host.entry import Entry
from harness.host.hidden import check_order
from harness.host.info import MethodInfo, needs_of
from harness.host.parameters import accept, without_defaults
from harness.host.parsing import PluginSpec, parse_stack, spell_stack

if TYPE_CHECKING:
    from harness.host.caller import HookCaller

__all__ = ["Seat", "Stack", "build_stack"]


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


def build_stack(text: str, catalogue: Catalogue | None = None) -> Stack:
    """The stack that a string names, with the base of its first plugin below it.

    Raises UsageError for what is misspelt, twice there or hidden, and UnusablePlugin for a plugin that cannot be used:
    whatever is wrong with a stack before it trains is a matter of usage.
    """
    catalogue = discover() if catalogue is None else catalogue
    given = _ordered(text, catalogue)
    below = _bases(given[0], catalogue, (given[0].entry.slug,))
    seats = _labelled([dataclasses.replace(seat, given=False) for seat in below] + given, text)
    check_order(seats)
    check_conflicts(seats, text)
    return Stack(canonical=spell_stack([seat.spec for seat in given]), seats=tuple(seats))


def _ordered(text: str, catalogue: Catalogue, own: str | None = None) -> list[Seat]:
    """The plugins of a stack string in canonical order: those with plain implementations, then those that only wrap.

    own: the distribution that a name means first, where several offer it.
    """
    seats = [_seat(spec, catalogue, own) for spec in parse_stack(text)]
    return sorted(seats, key=lambda seat: seat.info.only_wraps)  # sorted is stable


def _seat(spec: PluginSpec, catalogue: Catalogue, own: str | None) -> Seat:
    entry = catalogue.find(spec.name, spec.distribution, own)
    cls: Any = entry.load()
    params = accept(spec.name, cls, spec.params)
    distribution = entry.distribution if catalogue.clashes(entry.slug) else None
    canonical = PluginSpec(entry.slug, without_defaults(cls, params), distribution)
    try:
        plugin = cls(**params)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"method {canonical}: {error}") from error
    try:
        needs_of(plugin)
    except Exception as error:
        whose = f"method '{canonical}' of {entry.origin}: its needs cannot be read"
        raise UnusablePlugin(f"{whose}: {told(error)}") from error
    return Seat(entry.slug, canonical, entry, plugin, _digest(cls), given=True)


def _bases(first: Seat, catalogue: Catalogue, chain: tuple[str, ...]) -> list[Seat]:
    """What goes below the first plugin of a stack: its base, and that base's own base below that.

    A name that several distributions offer means the one of the plugin's own, so that what one installs beside it
    cannot change on what it stands.
    """
    base = first.info.base
    if not base:
        return []
    try:
        seats = _ordered(base, catalogue, first.entry.distribution)
    except UsageError as error:
        raise UsageError(f"the base {base!r} of {first.entry.slug!r} ({first.entry.origin}): {error}") from error
    slug = seats[0].entry.slug
    if slug in chain:
        raise UnusablePlugin(f"the bases of {chain[0]!r} go round in a circle: {' -> '.join((*chain, slug))}")
    return _bases(seats[0], catalogue, (*chain, slug)) + seats


def _labelled(seats: Sequence[Seat], text: str) -> list[Seat]:
    """The seats with unique labels. Raises UsageError for a plugin that is there twice and does not only wrap."""
    counts: dict[str, int] = {}
    labelled: list[Seat] = []
    for seat in seats:
        count = counts[seat.label] = counts.get(seat.label, 0) + 1
        if count > 1 and not seat.info.only_wraps:
            below = [other for other in labelled if other.label == seat.label and not other.given]
            hint = "; it is already there as a base, to change it write it leftmost" if below else ""
            raise UsageError(f"{seat.label!r} stands twice in {text!r}; only a plugin that only wraps may{hint}")
        labelled.append(dataclasses.replace(seat, label=seat.label if count == 1 else f"{seat.label}#{count}"))
    return labelled


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


def _digest(cls: type) -> str:
    """That of the source files; a class made at a prompt has none, and is known by its name alone."""
    found = hashlib.sha256()
    for content in sorted({_source(owner) for owner in cls.__mro__[:-1]}):
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()


def _source(cls: type) -> bytes:
    try:
        return Path(inspect.getsourcefile(cls) or "").read_bytes()
    except (TypeError, OSError):
        return cls.__qualname__.encode()
