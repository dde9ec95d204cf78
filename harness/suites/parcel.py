"""A trial's directory as bytes, for places that share no disk: its small files and its newest whole checkpoint."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

__all__ = ["newest_checkpoint", "pack", "unpack"]

TRIES = 5  # a checkpoint may be pruned while it is read: then there is a newer one


def newest_checkpoint(directory: Path) -> str:
    """The name of the newest checkpoint of a trial, "" before the first."""
    return max((path.name for path in (directory / "checkpoints").glob("step-*")), default="")


def pack(directory: Path) -> bytes:
    """The directory as a tar archive; empty where there is none.

    The checkpoint is read first, so that the files that it counts on reach at least as far as it says.
    """
    for _ in range(TRIES):
        try:
            return _pack(directory)
        except FileNotFoundError:
            continue
    return _pack(directory, checkpoint=False)


def unpack(parcel: bytes, directory: Path) -> None:
    """Put what `pack` gave into a directory: files replaced one by one, older checkpoints removed."""
    directory.mkdir(parents=True, exist_ok=True)
    beside = directory / ".parcel"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    with tarfile.open(fileobj=io.BytesIO(parcel)) as archive:
        archive.extractall(beside, filter="data")
    checkpoints, kept = directory / "checkpoints", set()
    for checkpoint in (beside / "checkpoints").glob("step-*"):
        kept.add(checkpoint.name)
        if not (checkpoints / checkpoint.name).is_dir():
            checkpoints.mkdir(exist_ok=True)
            checkpoint.replace(checkpoints / checkpoint.name)
    for file in beside.iterdir():
        if file.is_file():
            file.replace(directory / file.name)
    for old in checkpoints.glob("step-*"):
        if kept and old.name not in kept:
            shutil.rmtree(old)
    shutil.rmtree(beside)


def _pack(directory: Path, *, checkpoint: bool = True) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        name = newest_checkpoint(directory) if checkpoint else ""
        for path in sorted((directory / "checkpoints" / name).iterdir()) if name else ():
            _add(archive, path, f"checkpoints/{name}/{path.name}")
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            if path.is_file() and not path.name.startswith("."):
                _add(archive, path, path.name)
    return target.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """One file as it is now: it may grow while it is read, which a tar header would not forgive."""
    content = path.read_bytes()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = len(content), int(path.stat().st_mtime)
    archive.addfile(entry, io.BytesIO(content))
