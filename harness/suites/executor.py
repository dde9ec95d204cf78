"""Running trials in local processes: start, watch, give up on, stop."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from harness import runtime
from harness.files import read_json, write_json
from harness.suites.memory import within_limit
from harness.suites.schema import parse_bytes
from harness.suites.worker import DEFAULT_RUNNER, Job, silence_limit, work

__all__ = ["Observer", "Outcome", "prepare_workers", "run_jobs", "write_status"]

GRACE = 1.1  # a trial watches its own limit between steps; at so much more, and a minute at least, the parent kills it
GRACE_SECONDS = 60.0
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: done, failed, diverged, timeout, interrupted; busy: another run holds its directory."""

    job: Job
    status: str
    error: str | None = None
    score: float | None = None
    seconds: float = 0.0
    lost: bool = False  # its process died without a word, and nobody here ended it
    retries: int = 0  # how often it was taken up again after that


class Observer(Protocol):
    """Who is told about the run, in the parent."""

    def started(self, job: Job) -> None:
        """A worker took the trial up."""

    def beat(self, job: Job, news: dict[str, Any]) -> None:
        """The trial said how far it is."""

    def ended(self, outcome: Outcome) -> None:
        """The trial is over, for this call."""


@dataclass
class _Running:
    job: Job
    process: BaseProcess
    channel: Connection
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    end: dict[str, Any] | None = None
    verdict: tuple[str, str] | None = None  # status and reason, where the parent killed it


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int,
    observer: Observer,
    interrupt: runtime.Interrupt | None = None,
    deadline: float | None = None,
) -> list[Outcome]:
    """Run every job in its own process, `workers` at a time, and say how each ended.

    `deadline` is a time.monotonic() value at which all stop cleanly; jobs not begun by then have no outcome.
    """
    interrupt = runtime.Interrupt() if interrupt is None else interrupt
    if not jobs:
        return []
    first = jobs[0]
    context = prepare_workers(threads=first.config.threads, device=first.config.policy.device, runner=first.runner)
    waiting = list(reversed(jobs))
    running: list[_Running] = []
    outcomes: list[Outcome] = []
    asked = False
    try:
        while waiting or running:
            stopping = bool(interrupt) or (deadline is not None and time.monotonic() >= deadline)
            if stopping:
                waiting.clear()
                if not asked:
                    asked = True
                    for worker in running:
                        _signal(worker, signal.SIGTERM)
            if interrupt.count > 1:
                for worker in running:
                    _kill(worker, "interrupted", "stopped at once")
            while waiting and len(running) < workers:
                running.append(_start(context, waiting.pop()))
                observer.started(running[-1].job)
            _listen(running, observer)
            for worker in [worker for worker in running if not worker.process.is_alive()]:
                running.remove(worker)
                outcomes.append(_finish(worker, observer))
            for worker in running:
                _judge(worker)
    finally:
        for worker in running:
            _kill(worker, "interrupted", "the run ended")
    return outcomes


def prepare_workers(*, threads: int, device: str, runner: str = DEFAULT_RUNNER) -> Any:
    """Start the server that workers are forked from, and return the multiprocessing context that uses it.

    The server has imported torch and run nothing. CUDA does not survive a fork: there, workers are spawned.
    """
    runtime.prepare(threads)
    if device.startswith("cuda"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    imports = "harness.suites.preload" if runner == DEFAULT_RUNNER else "harness.suites.worker"
    context.set_forkserver_preload(["harness.suites.shield", imports])
    forkserver.ensure_running()
    return context


def _start(context: Any, job: Job) -> _Running:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(job, theirs), name=job.label)
    process.start()
    theirs.close()
    return _Running(job, process, ours)


def _listen(running: Sequence[_Running], observer: Observer) -> None:
    """Wait a moment for news of any worker, and take all of it."""
    by_channel = {worker.channel: worker for worker in running if not worker.channel.closed}
    sentinels = [worker.process.sentinel for worker in running]
    for ready in wait([*by_channel, *sentinels], timeout=POLL_SECONDS):
        if isinstance(ready, Connection):
            _receive(by_channel[ready], observer)


def _receive(worker: _Running, observer: Observer) -> None:
    with contextlib.suppress(EOFError, OSError):
        while worker.channel.poll():
            kind, news = worker.channel.recv()
            worker.heard = time.monotonic()
            if kind == "end":
                worker.end = news
            else:
                observer.beat(worker.job, news)
        return
    worker.channel.close()


def _judge(worker: _Running) -> None:
    """Kill a worker that is over a limit."""
    limits, now = worker.job.config.limits, time.monotonic()
    if worker.verdict is not None:
        return
    if now - worker.began > max(GRACE * limits.seconds, limits.seconds + GRACE_SECONDS):
        _kill(worker, "timeout", f"over limits.seconds = {limits.seconds:g}")
    elif now - worker.heard > silence_limit(limits):
        _kill(worker, "timeout", f"silent for {silence_limit(limits):g} s")
    elif limits.memory is not None and (used := _memory(worker.process.pid)) > parse_bytes(limits.memory):
        _kill(worker, "failed", "")  # first, as it goes on growing while the words are found
        worker.verdict = ("failed", within_limit(worker.job.config, used))


def _memory(pid: int | None) -> int:
    """Resident bytes of a process; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _signal(worker: _Running, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(worker.process.pid or 0, number)


def _kill(worker: _Running, status: str, reason: str) -> None:
    """End a worker and everything it started."""
    worker.verdict = worker.verdict or (status, reason)
    pid = worker.process.pid
    if pid is None:
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # killed before it made its own group
        _signal(worker, signal.SIGKILL)


def _finish(worker: _Running, observer: Observer) -> Outcome:
    """Read the last news, write the trial's status, and tell the observer."""
    if not worker.channel.closed:
        _receive(worker, observer)
        worker.channel.close()
    worker.process.join()
    if worker.process.pid is not None:  # what it or its ranks had started (an engine) may not know that they are gone
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.process.pid, signal.SIGKILL)
    status, error, score = _ending(worker)
    worker.process.close()
    outcome = Outcome(
        worker.job, status, error, score, time.monotonic() - worker.began, lost=not (worker.end or worker.verdict)
    )
    if status != "busy":
        write_status(outcome)
    observer.ended(outcome)
    return outcome


def _ending(worker: _Running) -> tuple[str, str | None, float | None]:
    if worker.end is not None:
        return worker.end["status"], worker.end["error"], worker.end["score"]
    if worker.verdict is not None:
        return (*worker.verdict, None)
    code = worker.process.exitcode or 0
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    hint = ", perhaps for memory" if code == -signal.SIGKILL else ""
    return "failed", f"the worker died: {how}{hint}; see {worker.job.directory / 'log.txt'}", None


def write_status(outcome: Outcome) -> None:
    """Write status.json; for a trial that died before it could write its result and settings, these too."""
    directory, config = outcome.job.directory, outcome.job.config
    directory.mkdir(parents=True, exist_ok=True)
    news = {"status": outcome.status, "error": outcome.error, "score": outcome.score, "seconds": outcome.seconds}
    before = {k: v for k, v in read_json(directory / "status.json").items() if k in {"started", "step", "progress"}}
    write_json(directory / "status.json", {**before, **news, "updated": time.time()})
    if not (directory / "config.json").exists():
        write_json(directory / "config.json", {"config": json.loads(config.model_dump_json()), "stack": config.row})
    if outcome.status in {"failed", "timeout", "diverged"} and not read_json(directory / "result.json"):
        write_json(directory / "result.json", news)
