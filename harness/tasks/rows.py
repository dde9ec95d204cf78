"""Rows of data: from a file, or from the Hugging Face hub."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, UsageError, nearest

__all__ = ["Row", "file_rows", "hub_rows"]

Row = Mapping[str, Any]


def file_rows(file: Path, task: str) -> list[Row]:
    """The rows of a JSON Lines, JSON, CSV or Parquet file."""
    readers: dict[str, Callable[[Path], list[Row]]] = {
        ".jsonl": lambda path: [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()],
        ".json": lambda path: list(json.loads(path.read_text("utf-8"))),
        ".csv": lambda path: list(csv.DictReader(path.read_text("utf-8").splitlines(keepends=True))),
        ".parquet": _parquet,
    }
    if not file.is_file():
        raise UsageError(f"task {task!r}: no file {file}.{nearest(file.name, (f.name for f in file.parent.glob('*')))}")
    if file.suffix not in readers:
        raise UsageError(f"task {task!r}: cannot read {file.name}; allowed: {', '.join(readers)}")
    try:
        rows = readers[file.suffix](file)
    except (ValueError, OSError) as error:
        raise UsageError(f"task {task!r}: {file} cannot be read: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"task {task!r}: {file} must hold objects with named fields, one a row")
    return rows


def hub_rows(path: str, subset: str | None, split: str, revision: str | None, task: str) -> list[Row]:
    """The rows of a Hugging Face data set. HarnessError where it cannot be reached."""
    import datasets

    try:
        data = datasets.load_dataset(path, subset, split=split, revision=revision)
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise HarnessError(
            f"task {task!r}: data set {path!r} cannot be read ({reason}); run it where the Hugging Face hub answers,"
            " set HF_HOME to a cache that holds it, or give files"
        ) from error
    return [dict(row) for row in data]


def _parquet(file: Path) -> list[Row]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_table(file).to_pylist())
