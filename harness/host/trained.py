"""`Trained`: a module that a plugin built, with its own optimizer settings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Trained"]


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What the hook `build` may return instead of a bare module.

    The learner owns, charges, checkpoints and steps the module with AdamW; settings left at None are the suite's.
    `max_grad_norm` clips this module's gradient apart from the policy's. `train=False` keeps it frozen (a teacher).
    """

    module: nn.Module
    lr: float | None = None
    betas: tuple[float, float] | None = None
    weight_decay: float = 0.0
    max_grad_norm: float | None = None
    train: bool = True
