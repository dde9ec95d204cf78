"""Building a stack from its spelling: bases put below, canonical order, and whatever cannot work refused."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import StackRefused, UnusablePlugin, UsageError, told
from harness.host.catalogue import Catalogue
from harness.host.claims import check_conflicts
from harness.host.discovery import discover
from harness.host.hidden import check_order
from harness.host.info import needs_of
from harness.host.parameters import accept, without_defaults
from harness.host.parsing import PluginSpec, parse_stack, spell_stack
from harness.host.stack import Seat, Stack

__all__ = ["build_stack"]


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
    """The seats with unique labels. Raises StackRefused for a plugin that is there twice and does not only wrap."""
    counts: dict[str, int] = {}
    labelled: list[Seat] = []
    for seat in seats:
        count = counts[seat.label] = counts.get(seat.label, 0) + 1
        if count > 1 and not seat.info.only_wraps:
            below = [other for other in labelled if other.label == seat.label and not other.given]
            hint = "; it is already there as a base, to change it write it leftmost" if below else ""
            raise StackRefused(f"{seat.label!r} stands twice in {text!r}; only a plugin that only wraps may{hint}")
        labelled.append(dataclasses.replace(seat, label=seat.label if count == 1 else f"{seat.label}#{count}"))
    return labelled


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
