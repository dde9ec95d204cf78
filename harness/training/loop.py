"""The steps of one trial: stages in order, timed, until the budget is spent."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.batch import Batch
from harness.training.schedule import factor
from harness.training.stages.advantages import advantages
from harness.training.stages.annotate import annotate
from harness.training.stages.augment import augment
from harness.training.stages.end import end
from harness.training.stages.rewards import shape_rewards
from harness.training.stages.rounds import rounds
from harness.training.stages.train_on import train_on
from harness.training.stages.update import update
from harness.training.state import seeded

if TYPE_CHECKING:
    from harness.training.context import Context
    from harness.training.lag import Lag

__all__ = ["STAGES", "Stage", "step"]

Stage = Callable[["Context", Any], Batch]

STAGES: tuple[Stage, ...] = (rounds, augment, annotate, shape_rewards, advantages, train_on, update, end)


def step(context: Context, lag: Lag, number: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Run step `number`. Returns (metrics, timing); only the metrics are deterministic.

    Where nothing is kept, only `rounds` and `end` run: no update, but what was sampled is charged. Raises BudgetSpent
    when the trial is over, with what the step had charged by then.
    """
    ledger, state = context.ledger, context.state
    before, began = ledger.total, time.perf_counter()
    hooks_before = dict(context.hooks.seconds)
    state.begin_step(number, ledger.progress)
    context.learner.set_schedule(factor(context.config.optimizer, state.progress))
    context.age = lag.begin_step()
    with seeded(context.config.seed, number):
        seconds = _stages(context)
    context.hooks.check_hidden(number)
    ledger.count(steps=1)
    metrics = {
        "step": number,
        "spent": ledger.spent,
        "progress": ledger.progress,
        "updates": ledger.total.updates - before.updates,
        **state.metrics,
    }
    timing = {
        "step": number,
        "total": time.perf_counter() - began,
        "stages": seconds,
        "hooks": {name: took - hooks_before.get(name, 0.0) for name, took in context.hooks.seconds.items()},
        "memory": _memory(context.policy.device.type),
    }
    return metrics, timing


def _stages(context: Context) -> dict[str, float]:
    """Run every stage; the seconds that each took are on the clock."""
    seconds: dict[str, float] = {}
    batch: Batch | None = None
    for stage in STAGES:
        if batch is not None and len(batch) == 0 and stage is not end:
            continue
        began = time.perf_counter()
        try:
            batch = stage(context, batch)
        finally:
            seconds[stage.__name__] = time.perf_counter() - began
            context.ledger.seconds += seconds[stage.__name__]
        if context.ledger.budget.currency == "seconds":  # every rank must find the same amount left
            context.ledger.seconds = context.policy.world.agree(context.ledger.seconds)
    return seconds


def _memory(device: str) -> int:
    """Peak bytes: resident of the process, or allocated on the accelerator."""
    if device == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
