"""A helper process that may be lost: questions and answers as JSON lines, a time limit on each, ended when it is late.

What compares a model's answers may loop, crash or eat memory on what a model writes, so it runs where it can be killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.errors import HarnessError

__all__ = ["Worker", "serve"]

START_SECONDS = 120.0
MEMORY = 4 << 30


class Worker:
    """The process of a module, each question within `seconds` of wall-clock time.

    It starts with the first question. An answer that takes too long, or brings the process down, is None and counts in
    `timeouts`; the next question gets a fresh process. `close` ends it. `trouble` says why it may not start.
    """

    def __init__(self, module: str, seconds: float, trouble: str, arguments: Sequence[str] = ()) -> None:
        self.seconds = seconds
        self.timeouts = 0
        self._command = [sys.executable, "-m", module, *arguments]
        self._trouble = trouble
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = -1
        self._lock = threading.Lock()

    def ask(self, question: Any, seconds: float | None = None) -> Any:
        """The answer; None where there is none in time. Raises HarnessError where the process cannot start."""
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
                return json.loads(self._line(seconds or self.seconds))
            except (OSError, EOFError, TimeoutError, ValueError):
                self.timeouts += 1
                self.close()
                return None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            self._owner = os.getpid()
            try:
                said = json.loads(self._line(START_SECONDS))
            except (OSError, EOFError, TimeoutError, ValueError):
                said = self._trouble
            if said != "ready":
                self.close()
                raise HarnessError(said)
        return self._process

    def _line(self, seconds: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        fd, data = self._process.stdout.fileno(), b""
        deadline = time.monotonic() + seconds
        while not data.endswith(b"\n"):
            if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                raise EOFError
            data += chunk
        return data

    def close(self) -> None:
        """End the process; the next question starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._owner == os.getpid():
            process.kill()
            process.wait()
        else:  # not ours to wait for
            process.returncode = 0
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def serve(prepare: Callable[[], Callable[[Any], Any]]) -> None:
    """The process's side: `prepare` imports what it takes and gives the function that answers; or raises HarnessError.

    The process writes no file, starts none, and has at most `MEMORY`.
    """
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer

    def reply(said: Any) -> None:
        replies.write(json.dumps(said) + "\n")
        replies.flush()

    try:
        answer = prepare()
    except HarnessError as error:
        reply(str(error))
        return
    _limit()
    reply("ready")
    for line in sys.stdin:
        reply(answer(json.loads(line)))


def _limit() -> None:
    """After everything is imported: what a model writes may reach `eval` in the libraries that compare answers."""
    try:
        import resource
    except ImportError:
        return
    wanted = {"RLIMIT_AS": MEMORY, "RLIMIT_FSIZE": 0, "RLIMIT_NPROC": 0, "RLIMIT_CORE": 0}
    for name, value in wanted.items():
        which = getattr(resource, name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(which, (limit, limit))
