"""How far a suite's runs are, read from their files: safe while they run, and from another machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.files import read_json
from harness.suites.store import RunDirectory
from harness.training.config import TrialConfig

__all__ = ["FAILURES", "TrialStatus", "status_of", "time_left"]

FAILURES = ("failed", "diverged", "timeout")
_STALE_SECONDS = 600.0  # without news for so long, a trial on another host counts as interrupted


@dataclass(frozen=True)
class TrialStatus:
    """One trial: done, failed, diverged, timeout, running, interrupted or waiting."""

    config: TrialConfig
    directory: Path
    status: str
    progress: float = 0.0
    score: float | None = None
    error: str | None = None
    seconds: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the trial has its place in the matrix."""
        return self.status == "done" or self.status in FAILURES


def status_of(config: TrialConfig, store: RunDirectory) -> TrialStatus:
    """The state of one trial from result.json, status.json and the last evaluation."""
    directory = store.trial(config)
    result, news = read_json(directory / "result.json"), read_json(directory / "status.json")
    status = str(result.get("status") or "waiting")
    if status not in {"done", *FAILURES} and news:
        status = "running" if news.get("status") == "running" and _alive(news) else "interrupted"
    done = status == "done"
    seconds = news.get("seconds")
    if seconds is None and news.get("started"):
        seconds = float(news.get("updated", time.time())) - float(news["started"])
    score = result.get("score") if result.get("score") is not None else last_score(directory)
    progress = 1.0 if done else float(news.get("progress") or 0.0)
    return TrialStatus(config, directory, status, progress, score, result.get("error") or news.get("error"), seconds)


def last_score(directory: Path) -> float | None:
    """The score of the last evaluation; None before the first."""
    try:
        lines = (directory / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        return record.get("score")
    return None


def _alive(news: dict[str, Any]) -> bool:
    """Whether the worker that wrote status.json still runs: asked of the system here, judged by its news elsewhere."""
    if news.get("host") == os.uname().nodename and news.get("pid"):
        try:
            os.kill(int(news["pid"]), 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return time.time() - float(news.get("updated", 0)) < _STALE_SECONDS


def time_left(states: Iterable[TrialStatus], workers: int) -> float | None:
    """Seconds until all trials are done at the pace so far; None before anything was learned about it."""
    states = list(states)
    worked = [(state.seconds, state.progress) for state in states if state.seconds and state.progress > 0.02]
    if not worked:
        return None
    whole = sum(seconds for seconds, _ in worked) / sum(progress for _, progress in worked)
    left = sum(1 - state.progress for state in states if not state.ended)
    return whole * left / max(1, workers)
