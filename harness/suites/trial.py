"""What a worker runs: training's `run_trial` with the evaluation that a suite uses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.files import read_json
from harness.training.config import TrialConfig

__all__ = ["run", "train"]


def run(
    config: TrialConfig,
    directory: Path,
    *,
    should_stop: Callable[[], bool],
    heartbeat: Callable[[dict[str, Any]], None],
) -> Any:
    """Train and evaluate one trial, here or in as many processes as it is to have; returns training's TrialResult."""
    if config.resources.ranks > 1 and read_json(directory / "result.json").get("status") != "done":
        from harness.suites.ranks import run_ranks

        return run_ranks(config, directory, should_stop=should_stop, heartbeat=heartbeat)
    return train(config, directory, should_stop=should_stop, heartbeat=heartbeat)


def train(config: TrialConfig, directory: Path, **options: Any) -> Any:
    """Train and evaluate in this process; `options` are those of training's `run_trial`."""
    from harness.evaluation import evaluate
    from harness.evaluation.others import run_programs
    from harness.training.trial import run_trial

    asked = functools.partial(evaluate, system=config.policy.system)  # as in training
    programs = run_programs(config.evaluation.tasks)
    return run_trial(config, directory, evaluate=asked, programs=programs, **options)
