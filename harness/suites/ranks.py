"""A trial in several processes of one machine: starting its ranks, watching them, and what each of them runs.

Ranks are started as torchrun starts them (RANK, WORLD_SIZE, LOCAL_RANK), but watched here: whichever ends first in a
way that it should not is known by its number, the others end with it, and the trial has one line for it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from harness import runtime
from harness.files import read_json, write_json, write_text
from harness.suites.worker import end_with_parent, one_line
from harness.training.config import TrialConfig

__all__ = ["main", "run_ranks"]

POLL_SECONDS = 0.1
PATIENCE = 20.0  # seconds that the other ranks have to end once one has


def run_ranks(
    config: TrialConfig,
    directory: Path,
    *,
    should_stop: Callable[[], bool],
    heartbeat: Callable[[dict[str, Any]], None],
) -> Any:
    """Train one trial in `config.resources.ranks` processes; returns training's TrialResult."""
    with tempfile.TemporaryDirectory(prefix="harness-ranks-") as name:
        folder = Path(name)
        write_text(folder / "config.json", config.model_dump_json(exclude_unset=True))
        ranks = [_start(config, folder, directory, rank) for rank in range(config.resources.ranks)]
        try:
            culprit = _watch(ranks, folder, should_stop, heartbeat)
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        return _result(directory, culprit)


def _start(config: TrialConfig, folder: Path, directory: Path, rank: int) -> subprocess.Popen[bytes]:
    threads = dict.fromkeys(runtime.THREAD_VARIABLES, str(config.threads))
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(config.resources.ranks)}
    environment = {**runtime.ENVIRONMENT, **os.environ, **threads, **place}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "harness.suites.ranks", str(folder), str(directory)]
    return subprocess.Popen(command, env=environment)


def _watch(
    ranks: Sequence[subprocess.Popen[bytes]],
    folder: Path,
    should_stop: Callable[[], bool],
    heartbeat: Callable[[dict[str, Any]], None],
) -> str | None:
    """Wait for all ranks. What the first that failed says of itself; None if none did."""
    beat: dict[str, Any] = {}
    told, until = False, float("inf")
    while any(process.poll() is None for process in ranks) and time.monotonic() < until:
        news = read_json(folder / "beat.json")
        if news != beat:
            beat = news
            heartbeat(news)
        if should_stop() and not told:
            told = True
            ranks[0].send_signal(signal.SIGTERM)  # it decides for all
        if until == float("inf") and any(process.poll() is not None for process in ranks):
            until = time.monotonic() + PATIENCE
        if any(process.poll() for process in ranks):
            break  # a rank died without a word: the others wait for it in vain
        time.sleep(POLL_SECONDS)
    return _culprit([process.poll() for process in ranks], folder)


def _culprit(codes: Sequence[int | None], folder: Path) -> str | None:
    """The rank that failed first, in a line: one that died, else the first to say that it failed."""
    count = len(codes)
    for rank, code in enumerate(codes):
        if code:
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            return f"rank {rank} of {count} died: {how}; see log.txt"
    ends = {rank: read_json(folder / f"rank-{rank}.json") for rank in range(count)}
    failed = [(end["time"], rank, end) for rank, end in ends.items() if end.get("status") in {"failed", "diverged"}]
    if failed and {end.get("error") for end in ends.values()} != {failed[0][2]["error"]}:
        _, rank, end = min(failed, key=lambda found: found[:2])
        return f"rank {rank} of {count}: {end['error']}"
    silent = [rank for rank, code in enumerate(codes) if code is None]
    return f"rank {silent[0]} of {count} did not end with the others; see log.txt" if silent and not failed else None


def _result(directory: Path, culprit: str | None) -> Any:
    """What the first rank wrote, or the fault of the rank that failed."""
    from harness.training.trial import TrialResult

    record = read_json(directory / "result.json")
    if culprit is not None or not record:
        record |= {"status": "failed", "error": culprit or "no rank wrote a result; see log.txt"}
        write_json(directory / "result.json", record, durable=True)
    return TrialResult.read(record)


class _Stop:
    """Set by SIGTERM."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, _signum: int, _frame: FrameType | None) -> None:
        self.asked = True


def main() -> None:
    """One rank: python -m harness.suites.ranks FOLDER DIRECTORY, with RANK and WORLD_SIZE set."""
    folder, directory = Path(sys.argv[1]), Path(sys.argv[2])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    stop = _Stop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    end_with_parent()
    config = TrialConfig.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))

    from harness.distributed import Ranks
    from harness.suites.trial import train

    runtime.single_threaded(config.threads)

    def beat(news: dict[str, Any]) -> None:
        if rank == 0:
            write_json(folder / "beat.json", news)

    end: dict[str, Any] = {"status": "failed"}
    try:
        with Ranks.joined(rank, size, folder / "store", config.policy.device) as world:
            place = directory if world.leader else folder / f"files-{rank}"
            result = train(config, place, should_stop=lambda: stop.asked, heartbeat=beat, world=world)
        end = {"status": result.status, "error": result.error}
    except Exception as error:  # noqa: BLE001 -- told to the process that watches
        end["error"] = one_line(error)
    write_json(folder / f"rank-{rank}.json", {**end, "time": time.time()})


if __name__ == "__main__":
    main()
