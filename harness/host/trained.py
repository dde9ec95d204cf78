"""`Trained`: a module that a plugin built, with its own optimizer settings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Trained", "own", "owner_of"]

_OWNER = "_harness_owner"


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


def own(module: Any, owner: str) -> None:
    """Let a built module remember whose it is, for what it may raise outside of any hook."""
    vars(module.module if isinstance(module, Trained) else module)[_OWNER] = owner


def owner_of(module: Any) -> str:
    """Whose module it is, as faults name plugins; "a plugin" where nobody knows."""
    return str(getattr(module, _OWNER, "a plugin"))
