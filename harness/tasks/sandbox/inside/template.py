"""The process that programs are forked from. It never holds a program, an input or a result, and so neither do they.

It gets descriptors and limits over a socket: of a pipe with the job, which the child alone reads, and of one for the
outcome. What a child finds in its memory, freed memory included, is the code of the sandbox and its own job.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import socket
import struct
import time

from . import jail, programs, streams
from .wire import framed, write_all

__all__ = ["ALONE", "ASK", "CLOCK", "DONE", "END", "ORDER", "VETTED", "Template"]

ORDER = struct.Struct("!cQd")  # `ALONE` or `VETTED`, bytes of memory, seconds of CPU: with the two descriptors
CLOCK = struct.Struct("!d")  # CPU seconds of the running child, the answer to `ASK`
ASK, END, DONE = b"?", b"!", b"."
ALONE, VETTED = b"1", b"*"
VETTED_SECONDS = 60.0  # of a child with many short programs, whom the server gives their time one by one


class Template:
    """One child at a time, for the server at the other end of `control`."""

    def __init__(self, control: socket.socket, null: int, *, isolated: bool) -> None:
        self.control = control
        self.null = null
        self.isolated = isolated

    def serve(self) -> None:
        """Until the server hangs up; then nothing of what was started here is left."""
        gc.collect()
        gc.freeze()
        while True:
            order, fds, _, _ = socket.recv_fds(self.control, ORDER.size, 2)
            if len(order) < ORDER.size or len(fds) != 2:
                return
            alone, memory, seconds = ORDER.unpack(order)
            if self.isolated and alone == ALONE:
                jail.fresh_tmp()
            pid = os.fork()
            if pid == 0:
                self.child(fds[0], fds[1], memory, seconds if alone == ALONE else None)
            for fd in fds:
                os.close(fd)
            if not self.attend(pid):
                return

    def attend(self, pid: int) -> bool:
        """Tell the child's CPU time until it is to end, and end it; False where the server is gone."""
        clock = (~pid << 3) | 2  # the CPU clock of another process
        try:
            while (word := self.control.recv(1)) == ASK:
                self.control.send(CLOCK.pack(_cpu(clock)))
        except OSError:
            word = b""
        self.kill(pid)
        if word == END:
            self.control.send(DONE)
        return word == END

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

    def child(self, source: int, sink: int, memory: int, seconds: float | None) -> None:
        """Read the job, give up every right, run it and write the outcome. Does not return.

        `seconds` None: jobs, not one, whose programs are vetted and answered one by one.
        """
        with contextlib.suppress(BaseException):
            with open(source, "rb") as file:
                job = json.loads(file.read())
            high = 0 if seconds is None else streams.descriptors(job[0], job[2])
            limit = VETTED_SECONDS if seconds is None else seconds
            jail.drop(memory=memory, seconds=limit, files=self.isolated, keep=sink, high=high, null=self.null)
            if seconds is None:
                for one in job:
                    write_all(3, framed((programs.run_vetted(*one) or "").encode()))
            else:
                random.seed(0)
                write_all(3, programs.run(*job).encode())
        os._exit(0)


def _cpu(clock: int) -> float:
    try:
        return time.clock_gettime(clock)
    except OSError:  # it has ended
        return 0.0
