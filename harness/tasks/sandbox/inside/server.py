"""The sandbox process: reads batches of jobs, has a child run each, and writes the outcomes.

Vetted programs of a batch share one child; any other program has a child, pipes and an empty /tmp of its own, and when
it ends nothing of it is left running. Children are forked from another process (`template`), started before the first
job came: this one has all programs and results in its memory, and a child of its own could read them there.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
import warnings
from typing import Any

from . import jail
from .template import ALONE, ASK, CLOCK, END, ORDER, VETTED, Template
from .wire import framed, receive, send, write_all

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
    isolated = mode == "namespaces"
    try:
        if isolated:
            jail.enter_namespaces()
    except jail.Refused as error:
        send(replies, {"refused": str(error)})
        return
    ours, theirs = socket.socketpair()
    template = os.fork()
    if template == 0:  # pid 1 where there are namespaces
        with contextlib.suppress(BaseException):
            for one in (requests, replies, ours.detach()):
                os.close(one)
            jail.seclude(with_parent=True)
            Template(theirs, null, isolated=isolated).serve()
        os._exit(0)
    theirs.close()
    jail.seclude()
    try:
        send(replies, {"ready": template})
        Server(requests, replies, ours).serve()
    finally:
        ours.close()  # the template ends what it runs, and itself
        os.waitpid(template, 0)


class Server:
    """The loop of the process. `control` leads to the template."""

    def __init__(self, requests: int, replies: int, control: socket.socket) -> None:
        self.requests = requests
        self.replies = replies
        self.control = control
        self.memory = 0
        self.seconds = 1.0

    def serve(self) -> None:
        """Batch by batch."""
        while True:
            request = receive(self.requests)
            self.memory, self.seconds = request["memory"], request["seconds"]
            outcomes = self.batch(request["jobs"])
            body = ",".join(f"[{text},{'true' if late else 'false'}]" for text, late in outcomes)
            write_all(self.replies, framed(f"[{body}]".encode()))

    def batch(self, jobs: list[Any]) -> list[tuple[str, bool]]:
        """Per job the JSON text `[values, error]` and whether it ran out of time."""
        texts: list[str | None] = [None] * len(jobs)
        start = 0
        while start < len(jobs):  # one child, unless a program manages to bring down the interpreter
            start = self.vetted(jobs, start, texts) + 1
        return [(text, False) if text is not None else self.alone(jobs[place]) for place, text in enumerate(texts)]

    def vetted(self, jobs: list[Any], start: int, texts: list[str | None]) -> int:
        """Fill in `texts` from `start` on, in one child; the index of the job at which it ended."""
        data, _ = self.child(jobs[start:], renew=True)
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

    def alone(self, job: Any) -> tuple[str, bool]:
        """One program in a child of its own."""
        data, late = self.child(job)
        values: list[Any] = [None] * len(job[2])
        if late:
            return json.dumps([values, f"ran longer than {self.seconds:g} s"]), True
        try:
            return _checked(data, len(values)), False
        except (ValueError, RecursionError):
            return json.dumps([values, "ended without a result"]), False

    def child(self, job: Any, *, renew: bool = False) -> tuple[bytes, bool]:
        """Have a child run a job: what it wrote, and whether its time ran out.

        `renew` starts the time again with every result, for a child that runs many short programs.
        """
        job_out, job_in = os.pipe()
        source, sink = os.pipe()
        try:
            order = ORDER.pack(VETTED if renew else ALONE, self.memory, self.seconds)
            socket.send_fds(self.control, [order], [job_out, sink])
            os.close(job_out)
            os.close(sink)
            return self.exchange(json.dumps(job).encode(), job_in, source, renew=renew)
        finally:
            os.close(source)
            self.control.send(END)
            if not self.control.recv(1):  # the template was killed
                sys.exit(1)

    def exchange(self, job: bytes, job_in: int, source: int, *, renew: bool) -> tuple[bytes, bool]:
        """Write the job, then read until the child closes its end, has written too much, or has used up its time."""
        feed = _Feed(job, job_in)
        data = bytearray()
        began = time.monotonic()
        used: float | None = 0.0  # CPU time before this program; None: to be asked for when it has run for a while
        with contextlib.closing(feed):
            while True:
                readable, writable, _ = select.select([source, self.requests], feed.waiting, [], POLL_SECONDS)
                if self.requests in readable:  # no request comes before the reply: the other end is gone
                    sys.exit(0)
                if writable:
                    feed.more()
                if source in readable:
                    chunk = os.read(source, 1 << 16)
                    if not chunk or len(data) > (MAX_RESULTS if renew else MAX_RESULT):
                        return bytes(data), False
                    data += chunk
                    if renew:
                        began, used = time.monotonic(), None
                elif not writable:
                    cpu = self.cpu()
                    used = cpu if used is None else used
                    if self.late(cpu - used, time.monotonic() - began):
                        return bytes(data), True

    def cpu(self) -> float:
        """Seconds of CPU that the child has had."""
        self.control.send(ASK)
        answer = self.control.recv(CLOCK.size, socket.MSG_WAITALL)
        if len(answer) < CLOCK.size:
            sys.exit(1)
        return float(CLOCK.unpack(answer)[0])

    def late(self, cpu: float, wall: float) -> bool:
        """Whether a program has had its time."""
        asleep = wall > WALL_FACTOR * self.seconds and cpu < ASLEEP * wall
        return cpu > self.seconds or asleep or wall > LAST_FACTOR * self.seconds


class _Feed:
    """A job on its way into a pipe, which holds less than some jobs have."""

    def __init__(self, job: bytes, fd: int) -> None:
        os.set_blocking(fd, False)
        self.rest = memoryview(job)
        self.waiting = [fd]  # for room in the pipe

    def more(self) -> None:
        """What the pipe takes now; its end is closed behind the last byte, or where nobody reads any more."""
        try:
            self.rest = self.rest[os.write(self.waiting[0], self.rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.rest = self.rest[:0]
        if not self.rest:
            self.close()

    def close(self) -> None:
        while self.waiting:
            os.close(self.waiting.pop())


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
