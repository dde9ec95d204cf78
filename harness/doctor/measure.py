"""Rehearsing steps in processes that are watched, and the largest micro-batch that fits."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from harness import runtime
from harness.doctor.rehearse import OUT_OF_MEMORY
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["Outcome", "largest_that_fits", "try_step"]

POLL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a rehearsal went: whether it fitted, the most memory it took, and how long its step was."""

    fits: bool
    peak: int = 0
    seconds: float = 0.0
    updates: float = 0.0


def try_step(config: TrialConfig, prompt: int, *, limit: int | None, seconds: float = 600.0) -> Outcome:
    """Rehearse a step; on a CPU its process is ended once it holds more than `limit` bytes.

    Raises HarnessError for whatever else goes wrong, and where it takes longer than `seconds`.
    """
    settings = {**config.model_dump(mode="json"), "budget": {config.budget.currency: config.budget.limit}}
    job = json.dumps({"config": settings, "prompt": prompt})
    runtime.prepare(config.threads)
    watched = None if config.policy.device.startswith("cuda") else limit
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(job)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.doctor.rehearse"], stdin=given, stdout=out, stderr=err
        )
        peak = _watched(process, watched, seconds)
        return _read(process.returncode, peak, watched, out, err)


def largest_that_fits(size: int, fits: Callable[[int], bool]) -> int:
    """The largest micro-batch below `size` that fits, by halving and then by bisection to an eighth; 0 for none."""
    low, high = size // 2, size
    while low and not fits(low):
        low, high = low // 2, low
    while low and high - low > max(1, size // 8):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _watched(process: subprocess.Popen[bytes] | subprocess.Popen[str], limit: int | None, seconds: float) -> int:
    """Wait for a process, or end it; the most resident bytes that were seen."""
    until, peak = time.monotonic() + seconds, 0
    try:
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            if limit is not None and peak > limit:
                break
            if time.monotonic() > until:
                raise HarnessError(f"a step took longer than {seconds:g} s; `--quick` leaves it out")
            time.sleep(POLL_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    return peak


def _read(status: int, peak: int, limit: int | None, out: IO[str], err: IO[str]) -> Outcome:
    out.seek(0)
    err.seek(0)
    over = limit is not None and peak > limit
    if over or status in {OUT_OF_MEMORY, -9}:  # the kernel's own verdict is a SIGKILL too
        return Outcome(fits=False, peak=peak)
    if status:
        last = [line for line in err.read().splitlines() if line.strip()][-1:]
        raise HarnessError(f"a step failed: {last[0] if last else f'exit status {status}'}")
    found = json.loads(out.read())
    if "error" in found:
        raise HarnessError(f"a step failed: {found['error']}")
    return Outcome(
        limit is None or found["peak"] <= limit, max(peak, found["peak"]), found["seconds"], found["updates"]
    )


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
