"""Watching and ending what an engine has started, whether the engine still knows of it or not."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["children", "end", "started", "watched"]

PATIENCE = 5.0  # seconds to end by themselves
EVERY = 1.0  # seconds between two looks
PYTHONS_OWN = "multiprocessing.resource_tracker"  # shared by all that this process starts; it ends with it
ALARM = signal.SIGUSR2


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


def children(processes: Iterable[Any]) -> list[Any]:
    """Those of them that this process itself started and that run."""
    import psutil

    mine = set(psutil.Process().children())
    return [process for process in processes if process in mine and not _over(process)]


@contextlib.contextmanager
def watched(processes: Iterable[Any]) -> Iterator[None]:
    """ChildProcessError inside as soon as one of these is over, also where the caller waits for an answer of it.

    A thread looks, and a signal takes the main thread out of its wait; in any other thread nothing is watched but the
    beginning. The signal (SIGUSR2) is this block's own while it lasts.
    """
    processes = list(processes)
    _check(processes)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    leave = threading.Event()
    main = threading.get_ident()

    def look() -> None:
        while not leave.wait(EVERY):
            if any(map(_over, processes)):
                if not leave.is_set():
                    signal.pthread_kill(main, ALARM)
                return

    def alarm(*_: object) -> None:
        if not leave.is_set():
            _check(processes)

    before = signal.signal(ALARM, alarm)
    watcher = threading.Thread(target=look, name="engine-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        leave.set()
        watcher.join()  # no signal comes after it
        signal.signal(ALARM, before)


def _check(processes: Iterable[Any]) -> None:
    for process in processes:
        if _over(process):
            raise ChildProcessError(f"its process {process.pid} is dead")


def _over(process: Any) -> bool:
    """Whether it is gone, or only waits for its end to be noted."""
    import psutil

    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


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
