"""Finding the methods of the installed distributions and of files, without importing any of them."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.host.api import mismatch
from harness.host.autoload import Autoload, normal
from harness.host.catalogue import Catalogue
from harness.host.entry import Entry, file_module
from harness.host.info import SLUG, slug_of
from harness.host.reading import Card
from harness.host.source_cache import SourceCache

__all__ = ["GROUP", "TASKS", "discover", "points"]

GROUP = "harness.methods"
TASKS = "harness.tasks"

Point = importlib.metadata.EntryPoint


def discover(plugin_files: Sequence[str | Path] = ()) -> Catalogue:
    """Every method of the installed distributions and of the given files. Imports none of them.

    Raises UsageError for a file that is not there, is not Python, or has no `@method` class (UnusablePlugin where its
    import fails, which is tried then alone), and for an environment that names distributions which are not installed.
    """
    autoload = Autoload.read()
    found = points(GROUP)
    if autoload.named:
        autoload.check(owner for group in (found, points(TASKS)) for _, owner, _ in group)
    cache = SourceCache.load()
    entries = [_installed(*offer, autoload, cache) for offer in found]
    files = list(dict.fromkeys(Path(name).resolve() for name in plugin_files))
    for file, label in zip(files, _labels(files, {entry.distribution for entry in entries}), strict=True):
        entries.extend(_from_file(file, label, cache))
    cache.save()
    return Catalogue(entries)


def points(group: str) -> list[tuple[Point, str, str]]:
    """(entry point, distribution, version) of a group; a distribution whose records are broken offers nothing."""
    try:
        found = list(importlib.metadata.entry_points(group=group))
    except Exception:  # noqa: BLE001 - one broken distribution breaks this call for all of them
        found = [point for point in _readable() if point.group == group]
    owners: dict[int, tuple[str, str]] = {}
    for point in found:
        if id(point.dist) not in owners:  # to parse its metadata costs more than all the rest
            owners[id(point.dist)] = _whose(point)
    return [(point, *owners[id(point.dist)]) for point in found]


def _readable() -> Iterator[Point]:
    """The entry points of every distribution that can be read; of several with one name the first on the path."""
    seen = set()
    for distribution in importlib.metadata.distributions():
        try:
            name, offered = normal(distribution.name), list(distribution.entry_points)
        except Exception:  # noqa: BLE001, S112 - what a broken installation raises is up to it
            continue
        if name not in seen:
            seen.add(name)
            yield from offered


def _whose(point: Point) -> tuple[str, str]:
    """(name, version) of the distribution of an entry point, as far as it says them."""
    try:
        if point.dist is None:
            return "unknown", "0"
        return point.dist.metadata["Name"] or "unknown", point.dist.metadata["Version"] or "0"
    except Exception:  # noqa: BLE001 - as above
        return "unknown", "0"


def _installed(point: Point, distribution: str, version: str, autoload: Autoload, cache: SourceCache) -> Entry:
    module, attr = (part.strip() for part in point.value.partition("[")[0].partition(":")[::2])
    fields: dict[str, Any] = {
        "slug": point.name.lower(), "distribution": distribution, "version": version, "module": module, "attr": attr,
    }  # fmt: skip
    refusal = autoload.refusal(distribution)
    if refusal:
        return Entry(**fields, path=None, error=refusal, disabled=True)
    if not re.fullmatch(SLUG, fields["slug"]):
        text = f"is called {point.name!r}, which cannot be written in a stack; its author can use a-z, 0-9 and -"
        return Entry(**fields, path=None, error=text, refused=True)
    if not re.fullmatch(r"[\w.]+:[\w.]+", f"{module}:{attr}"):
        text = f"has the entry point {point.value!r}, which is not module:Class"
        return Entry(**fields, path=None, error=text, refused=True)
    path, card, error = cache.describe(module, attr)
    refused = _refusal(card)
    return Entry(**fields, path=path, card=card, error=refused or error, refused=bool(refused))


def _refusal(card: Card | None) -> str | None:
    """Why a method cannot be used, whatever its import says: two classes of one name, or another host API."""
    if card and card.twice:
        return f"has its class {card.attr} twice, in {card.twice} of its file; rename one"
    return mismatch(card.literal("host_api")) if card else None


def _from_file(file: Path, label: str, cache: SourceCache) -> list[Entry]:
    if not file.is_file() or file.suffix != ".py":
        fault = "is no .py file" if file.exists() else "does not exist"
        raise UsageError(f"plugin file {str(file)!r} {fault}")
    cards, error, missing = cache.describe_file(file)
    if error:
        raise UsageError(f"plugin file {str(file)!r} {error}")
    if not cards and not missing:
        file_module(file)  # what stops its import is what to tell, not what was not reached
    if not cards:
        hint = f", and it {missing}" if missing else "; what it imports from elsewhere does not count"
        raise UsageError(f"plugin file {str(file)!r} has no class decorated with @method{hint}")
    slugs = [card.literal("name") or slug_of(card.attr) for card in cards]
    twice = next((slug for position, slug in enumerate(slugs) if slug in slugs[:position]), None)
    if twice:
        names = " and ".join(card.attr for card, slug in zip(cards, slugs, strict=True) if slug == twice)
        raise UsageError(f"plugin file {str(file)!r}: {names} are both called {twice!r}; give one @method(name=...)")
    return [
        Entry(
            slug=slug,
            distribution=label,
            version="",  # a file has none; `Stack.spec` records its digest
            module=file.stem,
            attr=card.attr,
            path=file,
            card=card,
            error=_refusal(card) or missing,
            from_file=True,
            refused=bool(_refusal(card)),
        )
        for card, slug in zip(cards, slugs, strict=True)
    ]


def _labels(files: Sequence[Path], taken: Collection[str]) -> list[str]:
    """What stands for the distribution of each file: its stem, with folders before it where that is taken."""
    found: list[str] = []
    for file in files:
        parts = [re.sub(r"[^\w.-]", "_", part) for part in (*file.parts[1:-1], file.stem)]
        names = [".".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        names += [f"{names[0]}-{number}" for number in range(2, len(files) + 3)]
        found.append(next(name for name in names if name not in taken and name not in found))
    return found
