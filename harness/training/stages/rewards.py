"""Rewards as the stack wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["shape_rewards"]


def shape_rewards(context: Context, batch: Batch) -> Batch:
    """The batch with its reward columns shaped."""
    shaped: Batch = context.hooks.shape_rewards(batch=batch)
    return shaped
