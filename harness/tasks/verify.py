"""Comparing a model's answer with the known one: numbers here, algebra by math-verify in a process that may die."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import subprocess
import sys
import threading
import time
from fractions import Fraction

from harness.errors import HarnessError
from harness.tasks.answers import number

__all__ = ["MathVerifier", "quick_equal"]

START_SECONDS = 120.0
MAX_LENGTH = 500  # characters: no answer is longer


def quick_equal(gold: str, answer: str) -> bool | None:
    """Whether two answers are equal where a look decides it; None where it takes algebra."""
    if " ".join(gold.split()) == " ".join(answer.split()):
        return True
    left, right = number(gold), number(answer)
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return None


class MathVerifier:
    """Equality of mathematical answers, each within `seconds` of wall-clock time.

    The process starts with the first answer that needs it. One that takes too long, or brings the process down, counts
    as wrong and in `timeouts`; the next answer gets a fresh process. `close` ends it.
    """

    def __init__(self, seconds: float = 3.0) -> None:
        self.seconds = seconds
        self.timeouts = 0
        self._cached = functools.lru_cache(maxsize=4096)(self._ask)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = -1
        self._lock = threading.Lock()

    def readable(self, gold: str) -> bool:
        """Whether a known answer can be read at all: one that cannot must not be trained on."""
        return bool(gold.strip()) and len(gold) <= MAX_LENGTH and (number(gold) is not None or self._cached(gold, None))

    def equal(self, gold: str, answer: str) -> bool:
        """Whether `answer` is the known answer `gold`."""
        quick = quick_equal(gold, answer)
        if quick is not None:
            return quick
        return len(answer) <= MAX_LENGTH and self._cached(gold, answer)

    def _ask(self, gold: str, answer: str | None) -> bool:
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps([gold, answer]).encode() + b"\n")
                process.stdin.flush()
                return bool(json.loads(self._line(self.seconds)))
            except (OSError, EOFError, TimeoutError, ValueError):
                self.timeouts += 1
                self.close()
                return False

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "harness.tasks.math_worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            self._owner = os.getpid()
            try:
                self._line(START_SECONDS)
            except (OSError, EOFError, TimeoutError):
                self.close()
                raise HarnessError(
                    "math-verify cannot start; check that math-verify[antlr4_13_2] is installed"
                ) from None
        return self._process

    def _line(self, seconds: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        fd, data = self._process.stdout.fileno(), b""
        deadline = time.monotonic() + seconds
        while not data.endswith(b"\n"):
            if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(fd, 4096)
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
