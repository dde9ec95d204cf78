"""The harness's side of the sandbox: start the process, send jobs, read outcomes, compare."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from harness.errors import HarnessError, UsageError

__all__ = ["Job", "Outcome", "Sandbox", "SandboxReport", "probe", "run_functions", "same"]

Kind = Literal["expression", "function", "stream"]
Mode = Literal["namespaces", "limits"]
START_SECONDS = 30.0
MARGIN_SECONDS = 30.0
CLOSE_SECONDS = 2.0
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from inside.server import main; sys.path.pop(0); main(sys.argv[2])"


@dataclasses.dataclass(frozen=True)
class Job:
    """A program and the argument lists to call it with.

    `expression`: Python in x (and y, z, w for further arguments). `function`: Python that defines `f`. `stream`: Python
    that reads stdin and writes stdout; each argument list is one text, and the value is what it wrote.
    """

    source: str
    inputs: Sequence[Sequence[Any]]
    kind: Kind = "function"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a program gave: a JSON scalar per input, None where that input failed.

    `error` is the first fault, or None if every input gave a value.
    """

    values: list[Any]
    error: str | None = None
    timed_out: bool = False


@dataclasses.dataclass(frozen=True)
class SandboxReport:
    """What this machine allows: the strongest mode that works (None: not even limits), and why not more."""

    mode: Mode | None
    detail: str


def same(value: Any, expected: Any) -> bool:
    """Whether a program's value is the expected one: equal and of one kind (True is not 1; None never passes)."""
    if value is None or isinstance(value, bool) != isinstance(expected, bool):
        return False
    if isinstance(value, str) != isinstance(expected, str):
        return False
    return bool(value == expected)


class Sandbox:
    """A running sandbox; `close` it, or use it in a `with` statement.

    `seconds` is the CPU time a program may use (a sleeper is stopped after five times as long), `memory` its address
    space in bytes. Raises HarnessError if mode is "namespaces" and the machine refuses them.
    """

    def __init__(self, mode: Mode = "namespaces", *, seconds: float = 2.0, memory: int = 256 << 20) -> None:
        if mode not in ("namespaces", "limits"):
            raise UsageError(f"unknown sandbox mode {mode!r}; allowed: namespaces, limits")
        self.mode = mode
        self.seconds = seconds
        self.memory = memory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = -1
        self._start()

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """The outcome of every job, in order. Equal jobs of one call run once."""
        distinct: dict[str, int] = {}
        texts = [json.dumps([job.kind, job.source, [list(arguments) for arguments in job.inputs]]) for job in jobs]
        places = [distinct.setdefault(text, len(distinct)) for text in texts]
        if not distinct:
            return []
        with self._lock:
            results = self._exchange(list(distinct))
        outcomes = [Outcome(values, error, late) for (values, error), late in results]
        return [outcomes[place] for place in places]

    def _exchange(self, jobs: list[str]) -> list[Any]:
        if self._process is None or self._owner != os.getpid():  # closed, or we are a fork of the one who started it
            self._start()
        body = f'{{"memory":{self.memory},"seconds":{self.seconds},"jobs":[{",".join(jobs)}]}}'.encode()
        limit = MARGIN_SECONDS + len(jobs) * (30 * self.seconds + 1)  # the process keeps to tighter ones
        try:
            self._send(body)
            return list(self._receive(limit))
        except (OSError, EOFError, ValueError):
            self.close()
            raise HarnessError(
                f"the sandbox process ended while it ran {len(jobs)} programs; the machine may be out of memory"
            ) from None
        except BaseException:  # interrupted between question and answer: the next batch needs a clean line
            self.close()
            raise

    # -- the process ---------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if os.name != "posix":
            raise HarnessError("generated code needs a POSIX system to run in a sandbox; use Linux, or WSL on Windows")
        if self.mode == "namespaces" and not sys.platform.startswith("linux"):
            raise HarnessError(f"{sys.platform} has no namespaces to run generated code in; {LIMITS_ADVICE}")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", "-c", BOOT, str(Path(__file__).parent), self.mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the harness, which then finishes its step
        )
        self._owner = os.getpid()
        try:
            greeting = self._receive(START_SECONDS)
        except (OSError, EOFError, ValueError):
            greeting = {"refused": "the process ended at once"}
        if "refused" in greeting:
            self.close()
            raise HarnessError(f"the {self.mode} sandbox cannot start ({greeting['refused']}); {LIMITS_ADVICE}")

    def _send(self, body: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(len(body).to_bytes(4, "big") + body)
        self._process.stdin.flush()

    def _receive(self, seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        return json.loads(self._read(int.from_bytes(self._read(4, deadline), "big"), deadline))

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        data = bytearray()
        while len(data) < size:
            if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(fd, min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)

    def close(self) -> None:
        """Kill the process and everything inside it."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        if self._owner != os.getpid():  # not ours to wait for
            process.returncode = 0
            return
        try:
            process.wait(CLOSE_SECONDS)  # it ends when we hang up, whatever it runs
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


LIMITS_ADVICE = "to run code tasks under resource limits alone, give --sandbox limits"


def run_functions(
    jobs: Sequence[Job], *, seconds: float = 2.0, memory: int = 256 << 20, mode: Mode = "namespaces"
) -> list[Outcome]:
    """Run jobs in a sandbox of their own; for many batches keep a `Sandbox`."""
    with Sandbox(mode, seconds=seconds, memory=memory) as sandbox:
        return sandbox.run(jobs)


def probe() -> SandboxReport:
    """What this machine allows, for `harness doctor`."""
    job = Job("x+1", [[1]], "expression")
    reasons: list[str] = []
    modes: tuple[Mode, ...] = ("namespaces", "limits")
    for mode in modes:
        try:
            if run_functions([job], mode=mode)[0].values == [2]:
                return SandboxReport(mode, "; ".join(reasons) or "user, pid, network, ipc and mount namespaces")
            reasons.append(f"the {mode} sandbox gave a wrong result")
        except HarnessError as error:
            reasons.append(str(error))
    return SandboxReport(None, "; ".join(reasons))
