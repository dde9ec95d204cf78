"""The optimizer steps of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch
from harness.training.measures import add_up

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["update"]


def update(context: Context, batch: Batch) -> Batch:
    """Let the stack update the weights, `updates_per_batch` times over.

    The batch comes back with the log-probabilities that the step started from.
    """
    learner, state = context.learner, context.state
    learner.begin()
    found = []
    for _ in range(context.config.learner.updates_per_batch):
        found.append(context.hooks.update(learner=learner, batch=batch))
        if batch.logp_old is None and learner.logp_start is not None and len(learner.logp_start) == len(batch):
            batch = batch.replace(logp_old=learner.logp_start)
    state.metrics.update({name: float(value) for name, value in add_up(found).items()})
    context.metered.forget()
    return batch
