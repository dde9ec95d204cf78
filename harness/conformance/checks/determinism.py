"""Two runs are equal whatever the process's random state is, and leave that state alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed
from harness.training.loop import STAGES

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

STEPS = 2


def check(bench: Bench) -> str:
    """Real steps without the loop's own seeding, under two global seeds."""
    before = _states()
    try:
        one, other = _run(bench, 1), _run(bench, 2)
    finally:
        _restore(before)
    if one.keys() != other.keys() or any(not torch.equal(one[name], other[name]) for name in one):
        what = next((name for name in one if name not in other or not torch.equal(one[name], other[name])), "a metric")
        raise CheckFailed(f"two runs under other global seeds differ in {what}; draw from state.generator")
    return f"{STEPS} steps, twice: the same bits, no global random state used"


def _run(bench: Bench, seed: int) -> dict[str, torch.Tensor]:
    """Weights and metrics after some steps. Raises CheckFailed where a stage moves a global generator."""
    subject = bench.subject
    _seed(seed)
    trial = tiny_trial(subject.stack, subject.catalogue, seed=bench.seed)
    context = trial.context
    found: dict[str, torch.Tensor] = {}
    for number in range(STEPS):
        context.state.begin_step(number, context.ledger.progress)
        context.age = trial.lag.begin_step()
        batch: Any = None
        for stage in STAGES:
            if batch is not None and not len(batch) and stage.__name__ != "end":
                continue
            before = _states()
            batch = stage(context, batch)
            moved = [name for name, state in _states().items() if not _same(state, before[name])]
            if moved:
                raise CheckFailed(f"stage {stage.__name__} moves the global generator of {', '.join(moved)}")
        found |= {f"metric {name}": torch.tensor(value) for name, value in sorted(context.state.metrics.items())}
    found |= {name: p.detach().clone() for name, p in context.policy.model.named_parameters()}
    return found


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global one is the point
    random.seed(seed)


def _states() -> dict[str, Any]:
    return {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "random": random.getstate()}  # noqa: NPY002


def _restore(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["torch"])
    np.random.set_state(states["numpy"])  # noqa: NPY002
    random.setstate(states["random"])


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else bool(a == b)
