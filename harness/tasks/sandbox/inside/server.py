"""The sandbox process: reads batches of jobs, forks children that run them, and writes the outcomes.

A message is four bytes of length (big-endian) and JSON. Vetted programs of a batch share one child; any other program
has a child, a result pipe and an empty /tmp of its own, and when it ends nothing of it is left running.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import warnings
from typing import Any

from . import jail, programs

__all__ = ["main"]

MAX_RESULT = 1 << 20  # bytes that a program of its own may answer with
MAX_RESULTS = 1 << 26  # and a child that runs vetted ones
POLL_SECONDS = 0.02
# A program's time is CPU time, so that a busy machine changes no outcome. One that sleeps meets these.
WALL_FACTOR = 5.0
ASLEEP = 0.05  # CPU seconds a second
LAST_FACTOR = 25.0
PRELOAD = (
    "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq",
    "itertools", "math", "operator", "random", "re", "statistics", "string", "typing",
)  # fmt: skip


def main(mode: str) -> None:
    """Serve until the other end hangs up."""
    for name in PRELOAD:
        __import__(name)
    warnings.simplefilter("ignore")
    requests, replies, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    try:
        if mode == "namespaces":
            jail.enter_namespaces(keep=(requests, replies))
    except jail.Refused as error:
        _send(replies, {"refused": str(error)})
        return
    gc.collect()
    gc.freeze()
    server = Server(requests, replies, null, isolated=mode == "namespaces")
    _send(replies, {"ready": os.getpid()})
    server.serve()


class Server:
    """The loop of the process."""

    def __init__(self, requests: int, replies: int, null: int, *, isolated: bool) -> None:
        self.requests = requests
        self.replies = replies
        self.null = null
        self.isolated = isolated
        self.memory = 0
        self.seconds = 1.0

    def serve(self) -> None:
        while True:
            self.answer(_receive(self.requests))

    def answer(self, request: Any) -> None:
        """One batch. Nothing of it stays in this process, which is what later programs are forked from."""
        self.memory, self.seconds = request["memory"], request["seconds"]
        outcomes = self.batch(request["jobs"])
        body = ",".join(f"[{text},{'true' if late else 'false'}]" for text, late in outcomes)
        _write_all(self.replies, f"[{body}]".encode())

    def batch(self, jobs: list[Any]) -> list[tuple[str, bool]]:
        """Per job the JSON text `[values, error]` and whether it ran out of time."""
        texts: list[str | None] = [None] * len(jobs)
        start = 0
        while start < len(jobs):  # one child, unless a program manages to bring down the interpreter
            start = self.vetted(jobs, start, texts) + 1
        done = [(text, False) for text in texts]
        for place, text in enumerate(texts):
            if text is None:
                done[place] = self.alone(jobs[place], (jobs, texts, done))
        return done  # type: ignore[return-value]

    def vetted(self, jobs: list[Any], start: int, texts: list[str | None]) -> int:
        """Fill in `texts` from `start` on, in one child; the index of the job at which it ended."""

        def child(out: int) -> None:
            for job in jobs[start:]:
                _write_all(out, (programs.run_vetted(*job) or "").encode())

        data, _ = self.fork(child, renew=True)
        at = 0
        index = start
        while index < len(jobs) and at + 4 <= len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > len(data):
                break
            texts[index] = data[at + 4 : end].decode() or None
            at = end
            index += 1
        return index

    def alone(self, job: Any, others: tuple[list[Any], ...]) -> tuple[str, bool]:
        """One program in a child of its own, where the lists `others` are empty: it cannot look up what others gave."""

        def child(out: int) -> None:
            import random

            for items in others:
                items.clear()
            random.seed(0)
            text = programs.run(*job).encode()
            while text:
                text = text[os.write(out, text) :]

        if self.isolated:
            jail.fresh_tmp()
        data, late = self.fork(child)
        values: list[Any] = [None] * len(job[2])
        if late:
            return json.dumps([values, f"ran longer than {self.seconds:g} s"]), True
        try:
            return _checked(data, len(values)), False
        except (ValueError, RecursionError):
            return json.dumps([values, "ended without a result"]), False

    def fork(self, child: Any, *, renew: bool = False) -> tuple[bytes, bool]:
        """Run `child(result descriptor)` in a limited child: what it wrote, and whether its time ran out.

        `renew` starts the time again with every result, for a child that runs many short programs.
        """
        source, sink = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                limit = self.seconds if not renew else 60.0
                jail.drop(memory=self.memory, seconds=limit, files=self.isolated, keep=sink, null=self.null)
                child(3)
            os._exit(0)
        os.close(sink)
        try:
            return self.collect(pid, source, renew=renew)
        finally:
            os.close(source)
            self.kill(pid)

    def collect(self, pid: int, source: int, *, renew: bool) -> tuple[bytes, bool]:
        """Read until the child closes its end, has written too much, or has used up its time."""
        data = bytearray()
        began, used = time.monotonic(), 0.0
        clock = (~pid << 3) | 2  # the CPU clock of another process
        while True:
            readable, _, _ = select.select([source, self.requests], [], [], POLL_SECONDS)
            if self.requests in readable:  # no request comes before the reply: the other end is gone
                self.kill(pid)
                os._exit(0)
            if source in readable:
                chunk = os.read(source, 1 << 16)
                if not chunk or len(data) > (MAX_RESULTS if renew else MAX_RESULT):
                    return bytes(data), False
                data += chunk
                if not renew:
                    continue
                began, used = time.monotonic(), _cpu(clock)
            elif self.late(_cpu(clock) - used, time.monotonic() - began):
                return bytes(data), True

    def late(self, cpu: float, wall: float) -> bool:
        """Whether a program has had its time."""
        asleep = wall > WALL_FACTOR * self.seconds and cpu < ASLEEP * wall
        return cpu > self.seconds or asleep or wall > LAST_FACTOR * self.seconds

    def kill(self, pid: int) -> None:
        """Nothing that a child started outlives it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if self.isolated:  # everyone in this pid namespace but us
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
            while self.isolated:
                os.waitpid(-1, 0)


def _cpu(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except OSError:  # it has ended
        return 0.0


def _checked(data: bytes, count: int) -> str:
    """The outcome a child wrote, if it is one; ValueError otherwise. The child may have written anything."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    outcome = json.loads(data, parse_constant=refuse)
    if not isinstance(outcome, list) or len(outcome) != 2:
        raise ValueError("not an outcome")
    values, error = outcome
    if not isinstance(values, list) or len(values) != count or not isinstance(error, str | None):
        raise ValueError("not an outcome")
    if any(isinstance(value, list | dict) for value in values):
        raise ValueError("not scalars")
    return json.dumps([values, error])


def _send(fd: int, message: Any) -> None:
    _write_all(fd, json.dumps(message).encode())


def _write_all(fd: int, body: bytes) -> None:
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data:
        data = data[os.write(fd, data) :]


def _receive(fd: int) -> Any:
    return json.loads(_read(fd, int.from_bytes(_read(fd, 4), "big")))


def _read(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(fd, min(size - len(data), 1 << 20))
        if not chunk:
            sys.exit(0)
        data += chunk
    return bytes(data)
