"""Ending what an engine has started, whether it still knows of it or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["end", "started"]

PATIENCE = 5.0  # seconds to end by themselves
PYTHONS_OWN = "multiprocessing.resource_tracker"  # shared by all that this process starts; it ends with it


def started() -> set[Any]:
    """The processes below this one, as psutil has them: another process of the same number is not one of them."""
    import psutil

    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if PYTHONS_OWN not in words:
            found.add(process)
    return found


def end(processes: Iterable[Any]) -> None:
    """Wait a little for these processes, and kill those that go on."""
    import psutil

    _, alive = psutil.wait_procs(list(processes), timeout=PATIENCE)
    for process in alive:
        try:
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(alive, timeout=PATIENCE)
