"""The optimizer steps of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["update"]


def update(context: Context, batch: Batch) -> Batch:
    """Let the stack update the weights; the batch comes back with the log-probabilities that the step started from."""
    learner = context.learner
    learner.begin()
    context.state.metrics.update(context.hooks.update(learner=learner, batch=batch))
    context.metered.forget()
    return learner.with_start(batch)
