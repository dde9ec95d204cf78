"""Writing trials to MLflow as they end, without holding the suite up: a dead or slow server costs one line."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from harness.errors import HarnessError
from harness.leaderboard import read_trials
from harness.tracking.sync import sync_trials

__all__ = ["Mirror"]

PAUSE = 120.0  # seconds for which a store that failed is left alone
PATIENCE = 60.0  # seconds that the end of a suite waits for a write under way


class Mirror:
    """A thread that writes one trial after the other; what it misses, the synchronisation at the end catches up."""

    def __init__(self, directory: Path, uri: str, say: Callable[[str], None]) -> None:
        self.directory = directory
        self.uri = uri
        self.say = say
        self.waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self.silent_until = -1.0
        self.thread = threading.Thread(target=self._work, name="mlflow", daemon=True)
        self.thread.start()

    def add(self, trial: Path) -> None:
        """Write the trial in this directory when its turn comes; those of a search are no rows and are left out."""
        if trial.parent.parent.name != "tuning":
            self.waiting.put(trial)

    def close(self) -> None:
        """Wait for what is under way, but not for a store that does not answer."""
        self.waiting.put(None)
        self.thread.join(PATIENCE)

    def _work(self) -> None:
        while (trial := self.waiting.get()) is not None:
            if time.monotonic() < self.silent_until:
                continue
            try:
                self._write(trial)
            except HarnessError as error:
                first, self.silent_until = self.silent_until < 0, time.monotonic() + PAUSE
                if first:
                    self.say(f"{error}; the suite goes on")

    def _write(self, directory: Path) -> None:
        with contextlib.suppress(OSError):  # a file that is being written anew
            trials = [trial for trial in read_trials(self.directory) if trial.path == directory]
            if trials:
                sync_trials(trials, self.directory, self.uri)
