"""The end of a step: its metrics, and what plugins add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.batch import Batch
from harness.training.metrics import NAMES, safe, sampled, trained
from harness.training.passes import row_tokens

if TYPE_CHECKING:
    from harness.budget import Cost
    from harness.training.context import Context

__all__ = ["end"]


def end(context: Context, batch: Batch) -> Batch:
    """Measure the step and let plugins see it. A metric that the core does not know is logged as `method/NAME`."""
    state = context.state
    found = state.metrics
    assert state.gathered is not None
    found.update(sampled(state.gathered))
    if len(batch):
        found.update(trained(context.learner.with_start(batch)))
        _watch(context, batch)
    found["lr"] = context.learner.lr
    added = context.hooks.end_step(batch=batch, metrics=dict(found)) or {}
    own = {name: value for name, value in found.items() if name not in NAMES and not name.startswith("reward/")}
    state.metrics = {name: value for name, value in found.items() if name not in own}
    state.metrics |= {f"method/{safe(name)}": float(value) for name, value in {**own, **added}.items()}
    return batch


def _watch(context: Context, batch: Batch) -> None:
    """Remember what the passes after the rounds cost, greedy completions apart: they are reserved by themselves."""
    total, before = context.ledger.total, context.after_rounds
    followed: Cost = total + before * -1
    greedy = context.ledger.categories.get("greedy", 0.0) - context.greedy_before
    followed = followed._replace(compute=followed.compute - greedy)
    context.habits.watch(followed, float(row_tokens(batch).sum()))
