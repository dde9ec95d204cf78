"""Advantages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["advantages"]


def advantages(context: Context, batch: Batch) -> Batch:
    """The batch with `advantages` [N, 1] or [N, T]; extras that the hook added travel on."""
    return batch.replace(advantages=context.hooks.estimate_advantages(batch=batch))
