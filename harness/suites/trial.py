"""What a worker runs: training's `run_trial` with the evaluation that a suite uses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.training.config import TrialConfig

__all__ = ["run"]


def run(
    config: TrialConfig,
    directory: Path,
    *,
    should_stop: Callable[[], bool],
    heartbeat: Callable[[dict[str, Any]], None],
) -> Any:
    """Train and evaluate one trial; returns training's TrialResult."""
    from harness.evaluation import evaluate
    from harness.training.trial import run_trial

    asked = functools.partial(evaluate, system=config.policy.system)  # as in training
    return run_trial(config, directory, should_stop=should_stop, heartbeat=heartbeat, evaluate=asked)
