"""A trial that is killed takes with it what it had started."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from harness.suites import Suite, trials
from harness.suites.executor import run_jobs
from harness.suites.worker import Job


class Quiet:
    def started(self, job: Any) -> None: ...
    def beat(self, job: Any, news: Any) -> None: ...
    def ended(self, outcome: Any) -> None: ...


def running(pid: int) -> bool:
    """Whether a process is there and no zombie that waits to be told of."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_killed_trial_had_started_ends_with_it(tmp_path: Path) -> None:
    config = trials(Suite.load("tiny", ["tasks=[{task: math}]"], {"seeds": 1, "methods": []}))[0]
    (outcome,) = run_jobs([Job(config, tmp_path, "tests.engines.dying:run")], workers=1, observer=Quiet())
    assert outcome.status == "failed"
    assert "SIGKILL" in (outcome.error or "")
    child = int((tmp_path / "child.txt").read_text())
    until = time.monotonic() + 20
    while running(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(child)
