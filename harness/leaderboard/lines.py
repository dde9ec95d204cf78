"""Reading JSON Lines that a kill may have cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["read_lines", "read_whole"]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON Lines file; a last line cut by a kill is skipped, a missing file is empty."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict):
                yield record


def read_whole(path: Path) -> list[dict[str, Any]]:
    """All records of a JSON Lines file at once, which is several times as fast; see `read_lines`."""
    try:
        text = path.read_text(encoding="utf-8")
        records = json.loads("[" + ",".join(line for line in text.split("\n") if line.strip()) + "]")
    except (OSError, ValueError):  # missing, or cut by a kill
        return list(read_lines(path))
    return [record for record in records if isinstance(record, dict)]
