"""Learning rate and evaluations as functions of the fraction of the budget that is spent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.training.config import OptimizerConfig

__all__ = ["due", "factor"]


def factor(config: OptimizerConfig, progress: float) -> float:
    """What the learning rates are multiplied with at `progress` in [0, 1]."""
    if progress < config.warmup:
        return (progress + 1e-3) / (config.warmup + 1e-3)  # never exactly 0: the first step counts
    rest = (progress - config.warmup) / (1 - config.warmup)
    if config.schedule == "linear":
        return max(0.0, 1 - rest)
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * min(1.0, rest)))
    return 1.0


def due(every: float, before: float, after: float) -> bool:
    """Whether a multiple of `every` lies in (before, after]: an evaluation is due."""
    return math.floor(after / every + 1e-9) > math.floor(before / every + 1e-9)
