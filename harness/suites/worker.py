"""One trial in its own process: what happens between the fork and the exit."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from harness import runtime
from harness.errors import told
from harness.files import write_json
from harness.suites.store import BusyError, locked
from harness.training.config import Limits, TrialConfig

__all__ = ["DEFAULT_RUNNER", "Job", "end_with_parent", "one_line", "silence_limit", "work"]

DEFAULT_RUNNER = "harness.suites.trial:run"


@dataclass(frozen=True, eq=False)
class Job:
    """A trial to run: its settings, its directory, and the function ("module:name") that runs it."""

    config: TrialConfig
    directory: Path
    runner: str = DEFAULT_RUNNER

    @property
    def label(self) -> str:
        """How the trial is called in tables and messages."""
        tuned = self.config.tuned
        search = "" if tuned is None or tuned.number is None else f" tuning {tuned.number + 1}/{tuned.trials}"
        return f"{self.config.row}{search} seed {self.config.seed}"


def silence_limit(limits: Limits) -> float:
    """Seconds without news after which a worker counts as hung: a quarter of its limit, at least five minutes."""
    return max(300.0, limits.seconds / 4)


class _Stop:
    """Set by SIGTERM from the parent, or when the parent is gone: the trial ends after its step."""

    def __init__(self, patience: float) -> None:
        self.asked = False
        self.patience = patience

    def __call__(self, _signum: int = 0, _frame: FrameType | None = None) -> None:
        if not self.asked:
            signal.alarm(int(self.patience))  # ends a hung worker that nobody watches any more
        self.asked = True


class _Heartbeat:
    """Tells the parent, and at most once a second the trial's status.json, how far the trial is."""

    def __init__(self, job: Job, channel: Connection, stop: _Stop) -> None:
        self.job, self.channel, self.stop = job, channel, stop
        self.started = time.time()
        self.written = 0.0

    def __call__(self, news: dict[str, Any]) -> None:
        """Send `news` (step, progress, score ...); a closed channel means that the parent died: stop cleanly."""
        try:
            self.channel.send(("beat", news))
        except OSError:
            self.stop()
        if time.time() - self.written >= 1:
            self.written = time.time()
            status = {"status": "running", "pid": os.getpid(), "host": os.uname().nodename, "started": self.started}
            write_json(self.job.directory / "status.json", {**status, "updated": self.written, **news})


def work(job: Job, channel: Connection) -> None:
    """Run the trial and send ("end", {status, error, score}) as the last message."""
    with contextlib.suppress(OSError):
        os.setsid()  # its own group: the terminal's Ctrl-C reaches the parent only, and killing it takes all with it
    stop = _Stop(silence_limit(job.config.limits))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    end_with_parent()
    job.directory.mkdir(parents=True, exist_ok=True)
    _redirect(job.directory / "log.txt")
    runtime.prepare(job.config.threads)
    runtime.single_threaded(job.config.threads)
    heartbeat = _Heartbeat(job, channel, stop)
    try:
        with locked(job.directory):
            heartbeat({"progress": 0.0})
            result = _load(job.runner)(job.config, job.directory, should_stop=lambda: stop.asked, heartbeat=heartbeat)
        end = {name: getattr(result, name, None) for name in ("status", "error", "score")}
    except BusyError as error:
        end = {"status": "busy", "error": str(error), "score": None}
    except Exception as error:  # noqa: BLE001 -- whatever it was, the other trials go on
        traceback.print_exc()
        end = {"status": "failed", "error": one_line(error), "score": None}
    with contextlib.suppress(OSError):
        channel.send(("end", end))
    channel.close()


def end_with_parent() -> None:
    """On Linux: SIGTERM when the fork server is gone, as it is when the run was killed."""
    if sys.platform.startswith("linux"):
        pr_set_pdeathsig = 1
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def one_line(error: BaseException) -> str:
    """An error in one line, and whose it is; the kind is named unless the text is meant for users."""
    return told(error)


def _load(runner: str) -> Callable[..., Any]:
    module, _, name = runner.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _redirect(log: Path) -> None:
    """Send what the trial prints to its own file: the terminal shows progress bars."""
    sys.stdout.flush()
    sys.stderr.flush()
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
