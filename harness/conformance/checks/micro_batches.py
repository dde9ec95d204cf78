"""The learner's gradient does not depend on how many rows a pass takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import apart
from harness.conformance.results import NotApplicable
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from torch import Tensor

    from harness.conformance.bench import Bench

SIZES = (1, 2, 4)
TOLERANCE = 1e-9


def check(bench: Bench) -> str:
    """The gradient on all parameters, the policy's and those of built modules, in one pass and in several."""
    direct = bench.rehearsal.trial.stack.direct
    if direct:
        raise NotApplicable(f"{direct} declares direct=True: its loss takes the whole minibatch in one pass")
    whole = _gradient(bench, 4096)
    if whole is None:
        raise NotApplicable("nothing of the probe trains")
    for size in SIZES:
        found = _gradient(bench, size)
        assert found is not None
        gap = apart(whole, found)
        if not gap <= TOLERANCE:
            raise CheckFailed(f"with {size} rows a pass the gradient is another one, by {gap:.1e} of its largest entry")
    return f"{', '.join(map(str, SIZES))} and all rows a pass give one gradient"


def _gradient(bench: Bench, rows: int) -> Tensor | None:
    """The gradient of the probe's loss by the real learner, as one vector; None if nothing trains."""
    rehearsal, learner = bench.rehearsal, bench.rehearsal.context.learner
    before = learner.config
    with rehearsal.moment():
        batch = rehearsal.prepare(rehearsal.probe)
        if batch is None:
            return None
        learner.config = before.model_copy(update={"micro_batch": rows})
        try:
            learner.backward(batch)
            found = [torch.zeros_like(p) if p.grad is None else p.grad for p in learner.parameters]
            return torch.cat([gradient.flatten().clone() for gradient in found])
        finally:
            learner.optimizer.zero_grad(set_to_none=True)
            learner.config, learner.pending = before, 0
