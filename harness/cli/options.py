"""Reading option values that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from harness.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.suites.store import RunDirectory

__all__ = ["folder", "run_directory", "shard", "stacks", "suite_name", "value"]

T = TypeVar("T")


def value(option: str, text: str, parse: Callable[[str], T]) -> T:
    """`parse(text)`, its ValueError as a UsageError that names the option."""
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def folder(option: str, path: Path) -> Path:
    """The folder to write to, made where it is not there. Raises UsageError where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; name a folder that can be written") from None
    if not os.access(path, os.W_OK):
        raise UsageError(f"{option} {path}: may not be written; name another folder")
    return path


def stacks(option: str, text: str) -> list[str]:
    """The stacks of a list with commas. Raises UsageError where it names none."""
    from harness.host import split_methods

    found = split_methods(text)
    if not found:
        raise UsageError(f"{option} {text}: names no method; write stacks with commas, as in dapo,gdpo+f-grpo(gamma=2)")
    return found


def shard(text: str) -> tuple[int, int]:
    """3/16 -> (3, 16). Raises UsageError."""
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text}: write i/n with i from 1 to n, for example --shard 3/16")
    return int(found[1]), int(found[2])


def suite_name(file: str) -> str:
    """What the suite of a file is called, by itself or by what it extends."""
    from harness.suites.reader import read

    return str(read(file).data.get("name", Path(file).stem))


def run_directory(name: str, out: Path | None) -> RunDirectory:
    """The runs of a suite given by bundled name, by path, or by the name or path of its run directory."""
    from harness.suites.store import DEFAULT_OUT, RunDirectory

    if (Path(name) / "suite.yaml").is_file():
        if (Path(name) / "trials.csv").is_file():  # every export has one, and no directory of runs
            raise UsageError(
                f"{name} is an exported board, not a directory of runs: `harness leaderboard {name}` shows it"
            )
        return RunDirectory(Path(name))
    if name.endswith((".yaml", ".yml")):
        name = suite_name(name)
    found = RunDirectory.of(name, out)
    if not found.suite_file.is_file():
        base = out or DEFAULT_OUT
        known = [file.parent.name for file in base.glob("*/suite.yaml")] if base.is_dir() else []
        hint = nearest(name, known) if known else " Run the suite first, or say with --out where its runs are."
        raise UsageError(f"no runs of {name!r} in {base}.{hint}")
    return found
