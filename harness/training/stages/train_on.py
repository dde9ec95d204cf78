"""What enters the loss and its denominators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["train_on"]


def train_on(context: Context, batch: Batch) -> Batch:
    """The batch whose `mask` is what trains. Numerators and denominators read this one mask, so they never disagree.

    Lengths, rewards and advantages stay as they were: what is left out of the loss remains in the statistics.
    """
    chosen = context.hooks.train_on(batch=batch)
    return batch if chosen is None else batch.replace(mask=batch.mask * chosen.to(batch.mask.dtype))
