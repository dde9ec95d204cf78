"""Programs that read stdin and write stdout: descriptors 0 and 1 are real, so every usual way to use them works."""

from __future__ import annotations

import atexit
import io
import os
import resource
import sys
from collections.abc import Sequence
from typing import Any

from .jail import HIGH
from .wire import write_all

__all__ = ["Run", "descriptors"]

CHUNK = 1 << 16


def descriptors(kind: str, inputs: Sequence[Sequence[Any]]) -> int:
    """For a program of streams, from `HIGH` on: both ends of a pipe for what it writes, and a file of each text.

    Gives how many they are: of other programs none.

    They are made before a child has its limits, as it may then write no file. What it writes may fill the pipe and no
    more (64 KiB): longer outputs are wrong in any case.
    """
    if kind != "stream":
        return 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = list(os.pipe2(os.O_NONBLOCK))
    for (text,) in inputs:
        found.append(os.memfd_create("input"))
        write_all(found[-1], text.encode("utf-8", "replace"))
    for number, fd in enumerate(found):
        os.dup2(fd, HIGH + number)
    return len(found)


class Run:
    """Runs a program once for each text, in order; every run has names and streams of its own."""

    def __init__(self, code: Any) -> None:
        self.code = code
        self.file = HIGH + 2

    def __call__(self, arguments: Sequence[Any]) -> str:  # noqa: ARG002 (the text lies in its file)
        """What the program wrote. `sys.exit` ends it as the end of its source does."""
        file, self.file = self.file, self.file + 1
        os.lseek(file, 0, os.SEEK_SET)
        os.dup2(file, 0)
        os.dup2(HIGH + 1, 1)
        sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
        raw = io.FileIO(1, "w", closefd=False)
        given = sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.BufferedWriter(raw))  # type: ignore[misc]
        try:
            exec(self.code, {"__name__": "__main__"})  # noqa: S102
        except SystemExit:
            pass
        finally:
            atexit._run_exitfuncs()  # noqa: SLF001 (where some write what they have gathered)
            try:
                for out in (sys.stdout, given):
                    out.flush()
            finally:
                raw.close()  # what it still holds must not reach the next run
                written = _drained()
        return written.decode()


def _drained() -> bytes:
    """All that stands in the pipe."""
    data = b""
    try:
        while chunk := os.read(HIGH, CHUNK):
            data += chunk
    except BlockingIOError:
        pass
    return data
