"""Polyak step size: as far as the gap to the best reward is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness import hookimpl, method
from harness_papers.whole_groups import counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="polyak-step", paper="2404.07525", base="rloo(beta=0)", experimental=True)
class PolyakStep:
    """The step is the gap between the best reward and the batch's mean, over the squared norm of the policy gradient.

    eta_t = min( (best - J_t) / (c ||g||^2 + eps), most ),  th <- th - eta_t g, with J_t the mean reward of the batch
    and g the gradient of RLOO's loss, an estimate of that of -J.

    best: the largest reward that the tasks give; the paper estimates it with a second policy. most: ours. One update a
    batch; the suite's learning rate only sets the schedule.
    Edge cases: J_t >= best and g = 0 skip the step.
    Source: arXiv 2404.07525, the abstract and Polyak's rule. Confidence: abstract (reconstructed).
    """

    best: float = 1.0
    c: float = 1.0
    most: float = 0.1
    eps: float = 1e-8

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The plain policy gradient."""
        assert batch.advantages is not None
        return -output.ratio * batch.advantages

    @hookimpl
    def update(self, learner: Any, batch: Batch) -> Mapping[str, float]:
        """One step of gradient descent."""
        metrics = learner.backward(batch)
        gradient, who = learner.gradient(), counted(batch)
        square = float(gradient.square().sum())
        gap = self.best - float((batch.reward * who).sum() / who.sum().clamp_min(1))
        size = min(gap / (self.c * square + self.eps), self.most) * learner.lr / learner.base_lr[0]
        if square > 0 and size > 0:
            learner.shift(gradient, -size)
            learner.stepped()
        return {**metrics, "grad_norm": square**0.5, "polyak_step": max(size, 0.0) if square > 0 else 0.0}
