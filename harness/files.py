"""Small files that other processes may read or cut at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["read_json", "write_json", "write_text"]


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} where the file is missing or was cut."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, value: Mapping[str, Any], *, durable: bool = False) -> None:
    """Replace a JSON file, see `write_text`. Raises TypeError for what JSON cannot say, before it writes."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n", durable=durable)


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write so that a reader sees the old file or the new one, never a part; `durable` waits for the disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    draft.replace(path)
