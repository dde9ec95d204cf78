"""The cards of plugin sources, kept between runs so that a listing parses only files that changed."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from harness.host.reading import Card, Parameter, find_source, read_classes

__all__ = ["SourceCache"]

_FORMAT = 1
_MAX_DEPTH = 10  # of inheritance between method classes


class SourceCache:
    """{file: (mtime, size, cards, imports)}; a cache that cannot be read or written is only slower."""

    def __init__(self, file: Path, records: dict[str, Any]) -> None:
        self.file, self.records, self.changed = file, records, False
        self._cards: dict[Path, tuple[dict[str, Card], list[str], str | None]] = {}

    @classmethod
    def load(cls) -> SourceCache:
        """The cache of this user, empty if there is none."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        file = Path(home) / "policy-harness" / f"methods-{_FORMAT}.json"
        try:
            records = json.loads(file.read_text())
        except (OSError, ValueError):
            records = {}
        return cls(file, records)

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

    def describe(self, module: str, attr: str) -> tuple[Path | None, Card | None, str | None]:
        """(source file, card with what it inherits, why it cannot be used) of a class in an installed module."""
        path = find_source(module)
        if path is None:
            return None, None, f"module {module} is not found"
        cards, imports, error = self._read(path, module.rpartition(".")[0])
        if error:
            return path, None, error
        card = self._inherit(cards.get(attr), path, module)
        missing = next((name for name in imports if not _exists(name)), None)
        return path, card, f"needs the module {missing!r}, which is not installed" if missing else None

    def describe_file(self, path: Path) -> tuple[list[Card], str | None]:
        """(cards of the classes decorated with `@method`, what is wrong with the file)."""
        cards, _, error = self._read(path, "")
        complete = [self._inherit(card, path, "") for card in cards.values() if card.is_method]
        return [card for card in complete if card], error

    def _inherit(self, card: Card | None, path: Path, module: str, depth: int = 0) -> Card | None:
        """The card over those of its parent classes, the nearest first."""
        if card is None or depth > _MAX_DEPTH:
            return card
        for owner, name in card.bases:
            source = find_source(owner) if owner else path
            if source is None:
                continue
            where = owner or module
            cards, _, _ = self._read(source, where.rpartition(".")[0])
            parent = self._inherit(cards.get(name), source, where, depth + 1)
            card = card.over(parent) if parent else card
        return card

    def _read(self, path: Path, package: str) -> tuple[dict[str, Card], list[str], str | None]:
        if path not in self._cards:
            self._cards[path] = self._cached(path, package)
        return self._cards[path]

    def _cached(self, path: Path, package: str) -> tuple[dict[str, Card], list[str], str | None]:
        try:
            status = path.stat()
            stamp = [status.st_mtime_ns, status.st_size, package]
            record = self.records.get(str(path))
            if record is None or record["stamp"] != stamp:
                cards, imports = read_classes(path.read_text(encoding="utf-8"), package)
                record = {
                    "stamp": stamp,
                    "cards": [dataclasses.asdict(card) for card in cards.values()],
                    "imports": list(imports),
                }
                self.records[str(path)] = record
                self.changed = True
        except OSError as error:
            return {}, [], f"cannot be read: {error.strerror}"
        except (SyntaxError, UnicodeDecodeError, ValueError) as error:
            return {}, [], f"is not valid Python: {error}"
        return {item["attr"]: _card(item) for item in record["cards"]}, record["imports"], None


def _card(item: dict[str, Any]) -> Card:
    return Card(
        attr=item["attr"],
        doc=item["doc"],
        parameters=tuple(Parameter(**parameter) for parameter in item["parameters"]),
        hooks=item["hooks"],
        stated=item["stated"],
        bases=tuple((owner, name) for owner, name in item["bases"]),
        is_method=item["is_method"],
    )


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
