"""Whose an experiment is: a folder of runs has a random name, so that two users of a server never undo each other."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from pathlib import Path

__all__ = ["FILE", "owner_of"]

FILE = ".mlflow-owner"


def owner_of(directory: Path) -> str:
    """The name of the folder that holds a suite's runs; made up once and kept in it, so it outlives the suite's runs.

    It says nothing about user or machine. A folder that cannot be written to is named by a hash of its place.
    """
    folder = directory.resolve().parent
    file = folder / FILE
    with contextlib.suppress(OSError), file.open("x", encoding="utf-8") as new:
        new.write(secrets.token_hex(3) + "\n")
    with contextlib.suppress(OSError):
        if name := file.read_text(encoding="utf-8").strip():
            return name
    return hashlib.sha256(str(folder).encode()).hexdigest()[:6]
