"""The methods that are installed: found by entry point or file, described from their source, imported on use."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import PluginError, UsageError, nearest
from harness.host.plugin import slug_of
from harness.host.reading import Card, Parameter
from harness.host.source_cache import SourceCache

__all__ = ["GROUP", "Catalogue", "Entry", "discover"]

GROUP = "harness.methods"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One method that somebody offers under a name. `error` says why it cannot be used, as far as its source tells."""

    slug: str
    distribution: str
    version: str
    module: str
    attr: str
    path: Path | None
    card: Card | None = None
    error: str | None = None
    from_file: bool = False
    loaded: type | None = None  # a class that is at hand already

    @property
    def doc(self) -> str:
        return self.card.doc if self.card else ""

    @property
    def fields(self) -> tuple[Parameter, ...]:
        return self.card.parameters if self.card else ()

    @property
    def hooks(self) -> Mapping[str, str]:
        return self.card.hooks if self.card else {}

    @property
    def paper(self) -> str | None:
        return self.card.literal("paper") if self.card else None

    @property
    def base(self) -> str | None:
        return self.card.literal("base") if self.card else None

    @property
    def experimental(self) -> bool:
        return bool(self.card and self.card.literal("experimental", default=False))

    @property
    def needs(self) -> str:
        """The needs as the source spells them; a function of the parameters stays source text."""
        return self.card.stated.get("needs", "") if self.card else ""

    @cached_property
    def origin(self) -> str:
        return f"{self.distribution} {self.version}".strip()

    def load(self) -> type:
        """The class. Raises PluginError with the reason if it cannot be imported or is not a method."""
        if self.loaded is not None:
            return self.loaded
        try:
            found: Any = (
                _file_module(self.path) if self.path and self.from_file else importlib.import_module(self.module)
            )
            for part in self.attr.split("."):
                found = getattr(found, part)
        except PluginError as error:
            raise PluginError(f"method {self.slug!r} of {self.origin}: {error}") from error
        except Exception as error:
            raise PluginError(
                f"method {self.slug!r} of {self.origin} cannot be imported from {self.module}:{self.attr}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(found, type) or "info" not in vars(found):
            raise PluginError(
                f"method {self.slug!r} of {self.origin}: {self.module}:{self.attr} is no class decorated with @method"
            )
        return found


class Catalogue(Mapping[str, Entry]):
    """Slug -> Entry, in order of the slug; where several distributions offer a slug, `slug@distribution` -> Entry."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        offers: dict[str, list[Entry]] = {}
        for entry in sorted(entries, key=lambda entry: (entry.slug, entry.distribution)):
            offers.setdefault(entry.slug, []).append(entry)
        self._offers = offers
        self._entries = {
            slug if len(several) == 1 else f"{slug}@{entry.distribution}": entry
            for slug, several in offers.items()
            for entry in several
        }

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def with_class(self, cls: type) -> Catalogue:
        """The catalogue with a class under the slug that it gives itself, in place of what was there."""
        info = vars(cls)["info"]
        place = cls.__module__
        entry = Entry(info.slug, place, "", place, cls.__qualname__, None, loaded=cls)
        return Catalogue([*(other for other in self.values() if other.slug != info.slug), entry])

    def clashes(self, slug: str) -> bool:
        """Whether several distributions offer the slug."""
        return len(self._offers.get(slug, ())) > 1

    def find(self, slug: str, distribution: str | None = None) -> Entry:
        """The entry of a name. Raises UsageError for an unknown name and for one that several distributions offer."""
        offers = self._offers.get(slug)
        if not offers:
            hint = "`harness methods` lists all; a file of your own needs --plugin FILE"
            raise UsageError(f"unknown method {slug!r}.{nearest(slug, self._offers)} {hint}")
        if distribution is not None:
            chosen = [entry for entry in offers if entry.distribution == distribution]
            if not chosen:
                known = [entry.distribution for entry in offers]
                raise UsageError(f"method {slug!r} is not offered by {distribution!r}.{nearest(distribution, known)}")
            return chosen[0]
        if len(offers) > 1:
            names = " and ".join(repr(entry.origin) for entry in offers)
            choices = " or ".join(f"{slug}@{entry.distribution}" for entry in offers)
            raise UsageError(f"method {slug!r} is offered by {names}; choose with {choices}")
        return offers[0]


def discover(plugin_files: Sequence[str | Path] = ()) -> Catalogue:
    """Every method of the installed distributions and of the given files. Imports none of them.

    Raises UsageError for a file that is not there, is not Python, or has no `@method` class.
    """
    cache = SourceCache.load()
    entries = [_installed(point, cache) for point in importlib.metadata.entry_points(group=GROUP)]
    for file in dict.fromkeys(Path(name).resolve() for name in plugin_files):
        entries.extend(_from_file(file, cache))
    cache.save()
    return Catalogue(entries)


def _installed(point: importlib.metadata.EntryPoint, cache: SourceCache) -> Entry:
    distribution = point.dist
    path, card, error = cache.describe(point.module, point.attr)
    return Entry(
        slug=point.name.lower(),
        distribution=distribution.name if distribution else "unknown",
        version=distribution.version if distribution else "0",
        module=point.module,
        attr=point.attr,
        path=path,
        card=card,
        error=error,
    )


def _from_file(file: Path, cache: SourceCache) -> list[Entry]:
    if not file.is_file():
        raise UsageError(f"plugin file {str(file)!r} does not exist")
    cards, error = cache.describe_file(file)
    if error:
        raise UsageError(f"plugin file {str(file)!r}: {error}")
    if not cards:
        raise UsageError(f"plugin file {str(file)!r} has no class decorated with @method")
    return [
        Entry(
            slug=card.literal("name") or slug_of(card.attr),
            distribution=file.stem,
            version="",  # a file has none; `Stack.spec` records its digest
            module=file.stem,
            attr=card.attr,
            path=file,
            card=card,
            from_file=True,
        )
        for card in cards
    ]


def _file_module(path: Path) -> ModuleType:
    """The module of a plugin file; executed once per content, under a name that cannot clash."""
    name = f"harness_plugin_{path.stem}_{hashlib.sha256(str(path).encode() + path.read_bytes()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
