"""One run of trials on a Ray cluster: send, listen, take up again what was lost, stop."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import runtime
from harness.suites import ray_cluster
from harness.suites.executor import Observer, Outcome, write_status
from harness.suites.parcel import pack, unpack
from harness.suites.ray_seat import Seat, why
from harness.suites.ray_worker import Place, Sent
from harness.suites.worker import Job

__all__ = ["ATTEMPTS", "Run"]

ATTEMPTS = "attempts.jsonl"  # in the trial's directory: a line for every worker that was lost
POLL_SECONDS = 0.5
LAST_SECONDS = 10.0  # how long places have to kill their trials after the second signal


class Run:
    """One call of `run_jobs`."""

    def __init__(
        self,
        ray: Any,
        jobs: Sequence[Job],
        *,
        share: bool,
        workers: int,
        observer: Observer,
        interrupt: runtime.Interrupt,
        deadline: float | None,
    ) -> None:
        self.ray = ray
        self.share = share
        self.workers = workers
        self.observer = observer
        self.interrupt = interrupt
        self.deadline = deadline
        self.waiting = collections.deque(jobs)
        self.seats: list[Seat] = []
        self.done: list[Outcome] = []
        self.retries: collections.Counter[Job] = collections.Counter()
        self.begun: set[Job] = set()
        self.stops = 0
        self.last: float | None = None
        self.token = uuid.uuid4().hex
        first = jobs[0]
        self.token_file = first.directory.resolve().parents[1] / f".ray-{self.token}"
        self.plugins = {path: Path(path).read_bytes() for path in first.config.plugins}
        options = ray_cluster.options(ray_cluster.demand(first.config), first.config.threads)
        self.actor = self.ray.remote(Place).options(**options)

    def outcomes(self) -> list[Outcome]:
        """Run everything."""
        self.token_file.parent.mkdir(parents=True, exist_ok=True)
        self.token_file.write_text(self.token, encoding="utf-8")
        try:
            while self.waiting or self.seats:
                self._stop_if_asked()
                while self.waiting and len(self.seats) < self.workers:
                    self._send(self.actor.remote(), self.waiting.popleft())
                self._listen()
        finally:
            self.token_file.unlink(missing_ok=True)
            for seat in self.seats:
                self._close(seat.actor)
        return self.done

    # -- sending -------------------------------------------------------------------------------------------------

    def _send(self, actor: Any, job: Job) -> None:
        """Give a place its next trial."""
        directory = job.directory.resolve()
        sent = Sent(
            job=dataclasses.replace(job, directory=directory),
            token_file=self.token_file,
            token=self.token if self.share else "",
            parcel=pack(directory),
            plugins=self.plugins,
        )
        seat = Seat(actor, job)
        seat.call = actor.begin.remote(sent)
        self.seats.append(seat)

    def _stop_if_asked(self) -> None:
        """Tell every place of a signal or of the deadline; kill those that do not answer the second signal."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        asked = min(2, max(self.interrupt.count, int(late)))
        if asked:
            self.waiting.clear()
        while self.stops < asked:
            self.stops += 1
            for seat in list(self.seats):
                if seat.asked == "begin":  # it waits for room in the cluster, or has just begun
                    self._finish(seat, Outcome(seat.job, "interrupted"))
                else:
                    seat.actor.stop.remote()
        if self.stops > 1:
            self.last = self.last or time.monotonic() + LAST_SECONDS
            for seat in list(self.seats) if time.monotonic() > self.last else ():
                self._finish(seat, Outcome(seat.job, "interrupted", "stopped at once"))

    # -- listening -----------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Ask whose turn it is, wait a moment for answers, and act on them."""
        now = time.monotonic()
        for seat in self.seats:
            if seat.call is None and now >= seat.due:
                seat.ask("poll")
        calls = [seat.call for seat in self.seats if seat.call is not None]
        if not calls:
            time.sleep(POLL_SECONDS / 4)
            return
        ready, _ = self.ray.wait(calls, num_returns=len(calls), timeout=POLL_SECONDS / 2)
        for seat in list(self.seats):
            if seat.call in ready:
                self._hear(seat)
            elif seat.silent(now):
                self._lose(seat, f"{seat.node} does not answer")

    def _hear(self, seat: Seat) -> None:
        """Take one answer."""
        try:
            answer = self.ray.get(seat.call)
        except self.ray.exceptions.ActorUnavailableError:  # the network; the silence limit decides
            seat.call, seat.due = None, time.monotonic() + POLL_SECONDS
            seat.asked = "poll" if seat.asked != "begin" else "begin"
            if seat.asked == "begin":
                self._lose(seat, "its node could not be reached")
            return
        except self.ray.exceptions.RayError as error:
            self._lose(seat, why(error, seat.node))
            return
        seat.call, seat.heard = None, time.monotonic()
        if seat.asked == "begin":
            seat.node, seat.shared = f"{answer['node']} (process {answer['pid']})", answer["shared"]
            self._begun(seat.job)
        elif seat.asked == "poll":
            self._news(seat, answer)
        else:
            unpack(answer, seat.job.directory)
            if seat.end is not None:
                self._ended(seat)

    def _begun(self, job: Job) -> None:
        if job not in self.begun:
            self.begun.add(job)
            self.observer.started(job)

    def _news(self, seat: Seat, answer: dict[str, Any]) -> None:
        """A poll's answer: show it, fetch what is not on this disk, and end the trial if it has ended."""
        seat.due, seat.end = time.monotonic() + POLL_SECONDS, answer["end"]
        if answer["news"] is not None:
            self.observer.beat(seat.job, answer["news"])
        fresh = answer["checkpoint"] != seat.checkpoint
        seat.checkpoint = answer["checkpoint"]
        if not seat.shared and (fresh or seat.end is not None):
            seat.ask("parcel")
        elif seat.end is not None:
            self._ended(seat)

    # -- endings -------------------------------------------------------------------------------------------------

    def _ended(self, seat: Seat) -> None:
        """A trial came to an end in its place; that of a lost process is none."""
        assert seat.end is not None
        end = dict(seat.end)
        held = end["status"] == "busy" and self.retries[seat.job]  # what is left of a lost worker still holds it
        if end.pop("lost") or held:
            self._lose(seat, str(end["error"]))
        else:
            self._finish(seat, Outcome(seat.job, **end))

    def _lose(self, seat: Seat, reason: str) -> None:
        """Note that a worker is gone, and put its trial back, unless that has happened too often."""
        job, count = seat.job, self.retries[seat.job] + 1
        job.directory.mkdir(parents=True, exist_ok=True)
        with (job.directory / ATTEMPTS).open("a", encoding="utf-8") as file:
            line = {"time": time.time(), "attempt": count, "node": seat.node, "error": reason}
            file.write(json.dumps(line) + "\n")
        (job.directory / "result.json").unlink(missing_ok=True)
        if self.stops:
            self._finish(seat, Outcome(job, "interrupted"))
        elif count > job.config.resources.retries:
            outcome = Outcome(job, "failed", f"its worker was lost {count} times, the last time: {reason}")
            write_status(outcome)
            self._finish(seat, outcome)
        else:
            self.retries[job] = count
            self.seats.remove(seat)
            self._close(seat.actor)
            self.waiting.appendleft(job)

    def _finish(self, seat: Seat, outcome: Outcome) -> None:
        """Tell how a trial ended, and give its place the next one."""
        self.seats.remove(seat)
        outcome = dataclasses.replace(outcome, retries=self.retries[seat.job])
        if seat.job in self.begun or outcome.status != "interrupted":
            self._begun(seat.job)
            self.done.append(outcome)
            self.observer.ended(outcome)
        if self.waiting and not self.stops and seat.end is not None:
            self._send(seat.actor, self.waiting.popleft())
        else:
            self._close(seat.actor)

    def _close(self, actor: Any) -> None:
        """Let a place tidy up, and end it."""
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.ray.get(actor.close.remote(), timeout=1)
        self.ray.kill(actor)
