"""The files of a trial's directory: JSON Lines that can be cut back to a checkpoint."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["LINES", "TrialFiles"]

LINES = ("metrics.jsonl", "timing.jsonl", "evaluations.jsonl", "samples.jsonl")


class TrialFiles:
    """Appends records line by line; `offsets` and `cut` let a resumed trial write what it would have written."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def append(self, name: str, record: Mapping[str, Any]) -> None:
        """One line. Numbers that are not finite are left out, and their names listed under `nonfinite`."""
        bad = [key for key, value in record.items() if isinstance(value, float) and not math.isfinite(value)]
        if bad:
            record = {key: value for key, value in record.items() if key not in bad} | {"nonfinite": sorted(bad)}
        with (self.directory / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def rewrite(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """A whole JSON Lines file, replaced at once."""
        beside = self.directory / f".{name}.tmp"
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        beside.replace(self.directory / name)

    def offsets(self) -> dict[str, int]:
        """How long every file is, after flushing it to disk."""
        found = {}
        for name in LINES:
            path = self.directory / name
            if not path.exists():
                found[name] = 0
                continue
            with path.open("rb+") as file:
                os.fsync(file.fileno())
                found[name] = file.seek(0, os.SEEK_END)
        return found

    def reaches(self, offsets: Mapping[str, int]) -> bool:
        """Whether every file is at least that long."""
        return all(self._size(name) >= size for name, size in offsets.items())

    def cut(self, offsets: Mapping[str, int]) -> None:
        """Forget what was written after a checkpoint (all of it, without one)."""
        for name in LINES:
            path = self.directory / name
            if path.exists():
                with path.open("rb+") as file:
                    file.truncate(offsets.get(name, 0))

    def _size(self, name: str) -> int:
        path = self.directory / name
        return path.stat().st_size if path.exists() else 0
