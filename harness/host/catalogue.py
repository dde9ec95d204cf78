"""`Catalogue`: the methods that can be named, by slug; a name that several distributions offer is never guessed at."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from harness.errors import PluginError, UsageError, nearest
from harness.host.autoload import FIRST_PARTY, normal
from harness.host.entry import Entry

__all__ = ["Catalogue"]


class Catalogue(Mapping[str, Entry]):
    """Slug -> Entry, in order of the slug; where several distributions offer a slug, `slug@distribution` -> Entry.

    Entries that are disabled are listed, with their reason, and take part in no clash.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        offers: dict[str, list[Entry]] = {}
        for entry in sorted(_unique(entries), key=lambda entry: (entry.slug, entry.disabled, entry.distribution)):
            offers.setdefault(entry.slug, []).append(entry)
        self._offers = offers
        self._entries = {self._key(entry): entry for several in offers.values() for entry in several}

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def with_class(self, cls: type) -> Catalogue:
        """The catalogue with a class under the slug that it gives itself, in place of what was there."""
        if not isinstance(cls, type) or "info" not in vars(cls):
            raise PluginError(f"{cls!r} is no class decorated with @method")
        info = vars(cls)["info"]
        place = cls.__module__
        entry = Entry(info.slug, place, "", place, cls.__qualname__, None, loaded=cls)
        return Catalogue([*(other for other in self.values() if other.slug != info.slug), entry])

    def clashes(self, slug: str) -> bool:
        """Whether several distributions offer the slug."""
        return len(self._enabled(slug)) > 1

    def status(self, entry: Entry) -> str:
        """ok, failed, disabled or clash."""
        if entry.disabled:
            return "disabled"
        if entry.error:
            return "failed"
        return "clash" if self.clashes(entry.slug) else "ok"

    def reason(self, entry: Entry) -> str | None:
        """Why the status of an entry is not ok, and what to do."""
        return entry.error or (self._clash(entry.slug) if self.clashes(entry.slug) else None)

    def find(self, slug: str, distribution: str | None = None, prefer: str | None = None) -> Entry:
        """The entry of a name. prefer: the distribution that has the last word where several offer the name.

        Raises UsageError for a name that is unknown, disabled, or offered by several distributions.
        """
        slug = slug.lower()
        offers = self._offers.get(slug)
        if not offers:
            hint = "`harness methods` lists all; a file of your own needs --plugin FILE"
            raise UsageError(f"unknown method {slug!r}.{nearest(slug, self._offers)} {hint}")
        if distribution is not None:
            chosen = [entry for entry in offers if normal(entry.distribution) == normal(distribution)]
            if not chosen:
                known = [entry.distribution for entry in offers]
                raise UsageError(f"method {slug!r} is not offered by {distribution!r}.{nearest(distribution, known)}")
            return _usable(chosen[0])
        enabled = self._enabled(slug)
        if len(enabled) > 1:
            own = [entry for entry in enabled if prefer and normal(entry.distribution) == normal(prefer)]
            if not own:
                raise UsageError(self._clash(slug))
            return own[0]
        return enabled[0] if enabled else _usable(offers[0])

    def _enabled(self, slug: str) -> list[Entry]:
        return [entry for entry in self._offers.get(slug, ()) if not entry.disabled]

    def _key(self, entry: Entry) -> str:
        alone = len(self._offers[entry.slug]) == 1 or (not entry.disabled and not self.clashes(entry.slug))
        return entry.slug if alone else f"{entry.slug}@{entry.distribution}"

    def _clash(self, slug: str) -> str:
        offers = self._enabled(slug)
        names = " and ".join(
            repr(entry.origin) + (" (which cannot be used)" if entry.error else "") for entry in offers
        )
        choices = " or ".join(f"{slug}@{entry.distribution}" for entry in offers)
        ours = any(normal(entry.distribution) == FIRST_PARTY for entry in offers)
        hint = ", or leave third parties out with `harness --no-plugins`" if ours else ""
        return f"method {slug!r} is offered by {names}; choose with {choices}{hint}"


def _usable(entry: Entry) -> Entry:
    """The entry. Raises UsageError if its distribution is left out."""
    if entry.disabled:
        raise UsageError(f"method {entry.slug!r} of {entry.origin} is disabled: {entry.error}")
    return entry


def _unique(entries: Sequence[Entry]) -> list[Entry]:
    """The entries, with what one distribution offers twice under one name made one: the same class, or an error."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = (entry.slug, entry.distribution)
        other = found.setdefault(key, entry)
        places = [f"{one.module}:{one.attr}" for one in (other, entry)]
        if places[0] != places[1]:
            error = f"is named twice in the entry points of {entry.distribution}: {' and '.join(places)}"
            found[key] = dataclasses.replace(other, error=error, refused=True)
    return list(found.values())
