"""What `estimate_advantages` finds on the way and the loss needs: per-row tensors that travel with the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from torch import Tensor

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["keep_for_loss"]


def keep_for_loss(batch: Batch, **tensors: Tensor) -> None:
    """Add named extras to the batch that the hook was given, which is how they reach the minibatches."""
    cast("dict[str, Tensor]", batch.extras).update(tensors)
