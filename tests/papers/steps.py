"""A tiny trial whose steps can be taken, or stopped before the update."""

from __future__ import annotations

from typing import Any

from harness.conformance.task import tiny_trial
from harness.host import discover
from harness.training.loop import STAGES, step
from harness.training.setup import Trial
from harness.training.stages.update import update

__all__ = ["before_update", "begun", "take"]


def begun(stack: str, **options: Any) -> Trial:
    """A trial of a stack before its first step, in float64."""
    return tiny_trial(stack, discover(), **options)


def take(trial: Trial, steps: int = 1, first: int = 0) -> list[dict[str, float]]:
    """The metrics of some steps."""
    return [step(trial.context, trial.lag, number)[0] for number in range(first, first + steps)]


def before_update(trial: Trial, number: int = 0) -> Any:
    """The batch that the update stage of a step would receive."""
    context = trial.context
    context.state.begin_step(number, context.ledger.progress)
    context.age = trial.lag.begin_step()
    batch: Any = None
    for stage in STAGES[: STAGES.index(update)]:
        batch = stage(context, batch)
    context.learner.begin()
    return batch
