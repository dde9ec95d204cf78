"""The cards of plugin sources, kept between runs so that a listing parses only files that changed."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from harness.host import reading
from harness.host.reading import Card, Parameter, find_source, read_classes

__all__ = ["SourceCache"]

_MAX_DEPTH = 10  # of inheritance between method classes


class SourceCache:
    """{file: stamp, cards, imports}; a cache that cannot be read or written is only slower."""

    def __init__(self, file: Path, records: dict[str, Any]) -> None:
        self.file, self.records, self.changed = file, records, False
        self._sources: dict[Path, _Source] = {}
        self._known: dict[str, bool] = {}
        self._places: dict[str, Any] = {}

    @classmethod
    def load(cls) -> SourceCache:
        """The cache of this user, empty if there is none."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        readers = b"".join(Path(file).read_bytes() for file in (__file__, reading.__file__))
        file = Path(home) / "policy-harness" / f"methods-{hashlib.sha256(readers).hexdigest()[:12]}.json"
        try:
            records = json.loads(file.read_text())
        except (OSError, ValueError):
            records = {}
        return cls(file, records if isinstance(records, dict) else {})

    def save(self) -> None:
        """Write the cache if it changed, atomically; never fails."""
        if not self.changed:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.file.parent, delete=False) as temporary:
                json.dump(self.records, temporary)
            Path(temporary.name).replace(self.file)
        except OSError:
            return

    def describe(self, module: str, attr: str, depth: int = 0) -> tuple[Path | None, Card | None, str | None]:
        """(source file, card with what it inherits, why it cannot be used) of a class in an installed module."""
        path = find_source(module, self._places)
        if path is None:
            return None, None, f"module {module} is not found"
        source = self._read(path, module.rpartition(".")[0])
        if source.error:
            return path, None, source.error
        if attr not in source.cards:
            owner, name = source.imported.get(attr, ("", ""))
            if name and depth < _MAX_DEPTH:  # a module that passes on what another defines
                return self.describe(owner, name, depth + 1)
            return path, None, f"{module} defines no class {attr}"
        return path, self._inherit(source.cards[attr], path, module), self._missing(source)

    def describe_file(self, path: Path) -> tuple[list[Card], str | None, str | None]:
        """(cards of the classes decorated with `@method`, what is wrong with the file, why it cannot be imported)."""
        source = self._read(path, "")
        complete = [self._inherit(card, path, "") for card in source.cards.values() if card.is_method]
        return complete, source.error, self._missing(source)

    def _missing(self, source: _Source) -> str | None:
        """The first module that a file imports, unguarded, and that is not installed."""
        needed = sorted({owner.split(".")[0] for owner, _ in source.imported.values() if owner})
        missing = next((name for name in needed if not self._exists(name)), None)
        return f"needs the module {missing!r}, which is not installed" if missing else None

    def _inherit(self, card: Card, path: Path, module: str, depth: int = 0) -> Card:
        """The card over those of its parent classes, the nearest first."""
        for owner, name in card.bases if depth < _MAX_DEPTH else ():
            where = owner or module
            file = find_source(owner, self._places) if owner else path
            parent = self._read(file, where.rpartition(".")[0]).cards.get(name) if file else None
            if file and parent:
                card = card.over(self._inherit(parent, file, where, depth + 1))
        return card

    def _read(self, path: Path, package: str) -> _Source:
        if path not in self._sources:
            self._sources[path] = self._cached(path, package)
        return self._sources[path]

    def _cached(self, path: Path, package: str) -> _Source:
        try:
            status = path.stat()
            stamp = [status.st_mtime_ns, status.st_size, package]
            record = self.records.get(str(path))
            if record is None or record["stamp"] != stamp:
                cards, imported = read_classes(path.read_text(encoding="utf-8"), package, str(path))
                record = {
                    "stamp": stamp,
                    "cards": [dataclasses.asdict(card) for card in cards.values()],
                    "imported": {name: list(place) for name, place in imported.items()},
                }
                self.records[str(path)] = record
                self.changed = True
        except OSError as error:
            return _Source({}, {}, f"cannot be read: {error.strerror}")
        except SyntaxError as error:
            place = f"line {error.lineno}" if error.lineno else "somewhere"
            return _Source({}, {}, f"is not valid Python: {error.msg} ({path}, {place})")
        except (UnicodeDecodeError, ValueError) as error:
            return _Source({}, {}, f"is not valid Python: {error} ({path})")
        cards = {item["attr"]: _card(item) for item in record["cards"]}
        return _Source(cards, {name: (owner, item) for name, (owner, item) in record["imported"].items()}, None)

    def _exists(self, module: str) -> bool:
        if module not in self._known:
            try:
                self._known[module] = importlib.util.find_spec(module) is not None
            except (ImportError, ValueError):
                self._known[module] = False
        return self._known[module]


@dataclasses.dataclass(frozen=True)
class _Source:
    """One file: its classes, what it imports unguarded, and why it cannot be read."""

    cards: dict[str, Card]
    imported: dict[str, tuple[str, str]]
    error: str | None


def _card(item: dict[str, Any]) -> Card:
    return Card(
        attr=item["attr"],
        doc=item["doc"],
        parameters=tuple(Parameter(**parameter) for parameter in item["parameters"]),
        hooks=item["hooks"],
        stated=item["stated"],
        bases=tuple((owner, name) for owner, name in item["bases"]),
        is_method=item["is_method"],
        twice=item["twice"],
    )
