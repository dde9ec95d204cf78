"""Rows that no sampling gave: replay, reference answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["augment"]


def augment(context: Context, batch: Batch) -> Batch:
    """The batch with rows added. What the step must know of every row is then measured on all of them."""
    grown: Batch = context.hooks.augment(batch=batch)
    if grown is not batch:
        context.ledger.count(rollouts_added=max(0, len(grown) - len(batch)))
        if len(grown) > len(batch):  # numbers that the sampler reported are not known for the new rows
            grown = grown.replace(logp_old=None, entropy=None)
    return grown
