"""One place of a Ray cluster where trials run, one after the other.

The actor is what the terminal's process is to a local run: it forks the trial from a server, listens to it, and kills
it over a limit. A trial therefore runs the very code of the local executor, and gives the very same bits.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import runtime
from harness.suites.executor import Outcome, run_jobs
from harness.suites.parcel import newest_checkpoint, pack, unpack
from harness.suites.worker import Job, one_line

__all__ = ["Place", "Sent"]


@dataclasses.dataclass(frozen=True)
class Sent:
    """A trial on its way to a worker.

    A worker that finds `token` in `token_file` shares the disk, and trains in the directory itself. Elsewhere it begins
    with the files of `parcel`. `plugins` are the sources of the suite's plugin files, by path.
    """

    job: Job
    token_file: Path
    token: str
    parcel: bytes
    plugins: Mapping[str, bytes]


class Place:
    """A Ray actor. Every call returns at once, so that one that does not answer is known to be gone."""

    def __init__(self) -> None:
        vars(sys.modules["__main__"]).pop("__file__", None)  # or every trial would import Ray's own main program
        self.scratch = Path(tempfile.mkdtemp(prefix="harness-"))
        self.shared = False
        self.thread: threading.Thread | None = None
        self.news: dict[str, Any] | None = None
        self.end: dict[str, Any] | None = None
        self._reset()

    def begin(self, sent: Sent) -> dict[str, Any]:
        """Take a trial up. Says where, and whether its files are seen there as they are written."""
        self._reset()
        token = sent.token_file
        self.shared = token.is_file() and token.read_text(encoding="utf-8") == sent.token
        self.job = sent.job if self.shared else self._moved(sent)
        self.thread = threading.Thread(target=self._run, args=(self.job,), daemon=True)
        self.thread.start()
        return {"shared": self.shared, "node": os.uname().nodename, "pid": os.getpid()}

    def poll(self) -> dict[str, Any]:
        """The newest news of the trial, its newest checkpoint, and how it ended if it has."""
        news, self.news = self.news, None
        return {"news": news, "checkpoint": newest_checkpoint(self.job.directory), "end": self.end}

    def stop(self) -> None:
        """As SIGTERM to a local run: once ends the trial after its step, twice kills it."""
        self.interrupt.count += 1

    def parcel(self) -> bytes:
        """The trial's files as they are."""
        return pack(self.job.directory)

    def close(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    # -- what `run_jobs` tells -----------------------------------------------------------------------------------

    def started(self, job: Job) -> None:
        """Known where the trial was sent from."""

    def beat(self, _job: Job, news: dict[str, Any]) -> None:
        """Keep the newest news for the next poll."""
        self.news = news

    def ended(self, outcome: Outcome) -> None:
        """Said by the next poll."""

    # -- inside --------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self.interrupt = runtime.Interrupt()
        self.news = self.end = None

    def _run(self, job: Job) -> None:
        try:
            (outcome,) = run_jobs([job], workers=1, observer=self, interrupt=self.interrupt)
            names = ("status", "error", "score", "seconds", "lost")
            self.end = {name: getattr(outcome, name) for name in names}
        except Exception as error:  # noqa: BLE001 -- told where it was sent from
            self.end = {"status": "failed", "error": one_line(error), "score": None, "seconds": 0.0, "lost": False}

    def _moved(self, sent: Sent) -> Job:
        """The trial in a directory of this machine, with the files that were sent along."""
        job, directory = sent.job, self.scratch / "trial"
        shutil.rmtree(directory, ignore_errors=True)
        unpack(sent.parcel, directory)
        plugins = tuple(self._plugin(place, path, source) for place, (path, source) in enumerate(sent.plugins.items()))
        config = job.config.model_copy(update={"plugins": plugins}) if plugins else job.config
        return dataclasses.replace(job, config=config, directory=directory)

    def _plugin(self, place: int, path: str, source: bytes) -> str:
        """A plugin file here: under its own name and folder's name, as both may be part of a method's name."""
        target = self.scratch / "plugins" / str(place) / Path(path).parent.name / Path(path).name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source)
        return str(target)
