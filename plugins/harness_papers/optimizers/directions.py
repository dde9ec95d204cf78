"""What optimizer-step methods share: steps of a given length along a direction over all weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import HarnessError

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["gradient_at", "moved_policy", "scheduled", "stride"]

Past = dict[str, Tensor]  # `momentum` and `step` [P], where there are any


def scheduled(learner: Any, length: float) -> float:
    """A length under the suite's learning-rate schedule."""
    return float(length * learner.lr / learner.base_lr[0]) if learner.base_lr[0] else length


def stride(learner: Any, past: Past, momentum: Tensor, length: float) -> None:
    """Move by `length` against the momentum [P], count an update and note both; no move, no step where it is 0.

    Raises HarnessError for a momentum that is not finite.
    """
    past.clear()
    past["momentum"] = momentum
    norm = float(momentum.norm())
    if not math.isfinite(norm):
        msg = "the gradient is not finite; lower the step length or look at the loss of the stack"
        raise HarnessError(msg)
    if norm == 0:
        return
    past["step"] = momentum * (-length / norm)
    learner.shift(past["step"])
    learner.stepped()


def gradient_at(learner: Any, batch: Batch, step: Tensor, scale: float) -> tuple[Tensor, Mapping[str, float]]:
    """(the gradient [P], the metrics) of a batch at the weights plus `scale` times a step [P]; weights are put back."""
    origin = learner.snapshot()
    learner.shift(step, scale)
    metrics = learner.backward(batch)
    found = learner.gradient()
    learner.restore(origin)
    return found, metrics


@contextmanager
def moved_policy(policy: Any, step: Tensor | None, scale: float) -> Iterator[None]:
    """The policy's weights plus `scale` times the first entries of a step [P] inside the block, and back after it."""
    weights = [parameter for parameter in policy.model.parameters() if parameter.requires_grad]
    if step is None or not scale:
        yield
        return
    kept = [parameter.detach().clone() for parameter in weights]
    sizes = [parameter.numel() for parameter in weights]
    try:
        with torch.no_grad():
            for parameter, part in zip(weights, step[: sum(sizes)].split(sizes), strict=True):
                parameter.add_(part.view_as(parameter), alpha=scale)
        yield
    finally:
        with torch.no_grad():
            for parameter, start in zip(weights, kept, strict=True):
                parameter.copy_(start)
        policy.forget()
