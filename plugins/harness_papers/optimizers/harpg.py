"""HARPG: momentum carried along by the curvature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.optimizers.directions import gradient_at, scheduled, stride

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="harpg", paper="2302.01734", base="rloo(beta=0)")
class HARPG:
    """The momentum is moved to the present weights by a Hessian product along the last step; steps have one length.

    m = (1 - eta) (m + H(th^) (th - th_before)) + eta g(th), th^ uniform between th_before and th;
    th <- th - length m / ||m||.

    H d is the difference of the gradients of the unclipped surrogate -r A at th^ + radius d and th^ - radius d, over
    2 radius, on the batch of the step, whose ratios are to th; the paper samples one more trajectory at th^. Two more
    gradients a step, charged. eta: None is (2 / (t + 2))^(4/5). length: ours, under the suite's schedule.
    State: momentum and the last step. Edge cases: m = 0 skips the step; eta = 1 is normalised SGD.
    The gradient is to be that of the return: advantages over a std make a step of one length out of noise.
    Source: arXiv 2302.01734, from knowledge. Confidence: secondary.
    """

    length: float = 0.05
    eta: float | None = None
    radius: float = 0.1

    @hookimpl
    def start(self) -> None:
        """No momentum yet."""
        self.past: dict[str, Tensor] = {}
        self.taken = 0

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """The gradient, the momentum brought here, the step."""
        eta = float((2 / (self.taken + 2)) ** 0.8) if self.eta is None else self.eta
        metrics = learner.backward(batch)
        gradient, batch = learner.gradient(), learner.with_start(batch)
        momentum = gradient
        if "step" in self.past:
            carried = self.curvature(learner, batch, self.past["step"], state.generator)
            momentum = torch.lerp(self.past["momentum"] + carried, gradient, eta)
        stride(learner, self.past, momentum, scheduled(learner, self.length))
        self.taken += 1
        return {**metrics, "grad_norm": float(gradient.norm())}

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate, without a clip."""
        assert batch.advantages is not None
        return -output.ratio * batch.advantages

    def curvature(self, learner: Any, batch: Batch, step: Tensor, generator: torch.Generator) -> Tensor:
        """[P] H(th^) times a step [P], th^ drawn between the weights and the weights less the step."""
        back = -float(torch.rand((), generator=generator))
        ahead, _ = gradient_at(learner, batch, step, back + self.radius)
        behind, _ = gradient_at(learner, batch, step, back - self.radius)
        return (ahead - behind) / (2 * self.radius)
