"""Two runs are equal whatever the process's random state is, and leave that state alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from harness.conformance import random_state
from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed
from harness.training.loop import STAGES

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

STEPS = 2


def check(bench: Bench) -> str:
    """Real steps without the loop's own seeding, under two global seeds."""
    before = random_state.states()
    try:
        one, other = _run(bench, 1), _run(bench, 2)
    finally:
        random_state.restore(before)
    if one.keys() != other.keys() or any(not torch.equal(one[name], other[name]) for name in one):
        what = next((name for name in one if name not in other or not torch.equal(one[name], other[name])), "a metric")
        raise CheckFailed(f"two runs under other global seeds differ in {what}; draw from state.generator")
    return f"{STEPS} steps, twice: the same bits, no global random state used"


def _run(bench: Bench, seed: int) -> dict[str, torch.Tensor]:
    """Weights and metrics after some steps. Raises CheckFailed where a hook or a stage moves a global generator."""
    subject = bench.subject
    random_state.seed(seed)
    trial = tiny_trial(subject.stack, subject.catalogue, seed=bench.seed)
    context = trial.context
    random_state.watch(context.hooks)
    found: dict[str, torch.Tensor] = {}
    for number in range(STEPS):
        context.state.begin_step(number, context.ledger.progress)
        context.age = trial.lag.begin_step()
        batch: Any = None
        for stage in STAGES:
            if batch is not None and not len(batch) and stage.__name__ != "end":
                continue
            before = random_state.states()
            batch = stage(context, batch)
            if names := random_state.moved(before):  # outside of any hook: a module, in a pass of the learner
                raise CheckFailed(f"stage {stage.__name__} moves the global generator of {names}")
        found |= {f"metric {name}": torch.tensor(value) for name, value in sorted(context.state.metrics.items())}
    found |= {name: p.detach().clone() for name, p in context.policy.model.named_parameters()}
    return found
