"""Recursive momentum: the old weights' gradient on the new batch corrects it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import sequence_log_ratio
from harness_papers.optimizers.directions import gradient_at, scheduled, stride

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LIMIT = 20.0


@method(name="recursive-momentum", paper="2306.01854", base="rloo(beta=0)")
class RecursiveMomentum:
    """The momentum is corrected by the gradient of the same batch at the last weights; steps have one length.

    m = g(th) + (1 - eta) (m - w g(th_before)), w = min(prod_t pi_before / pi, cap) per completion, within the sum;
    th <- th - length m / ||m||.

    The policy gradient is that of -w A logp, w without gradient and 1 at th. eta: None is (t + 1)^(-2/3), t the steps
    so far; the paper shrinks the length alike, it is ours and under the suite's schedule here. Its utilities of the
    state distribution come to the plain reward here. One update and two gradients a batch.
    State: momentum and the last step. Edge cases: the first step has m = g; m = 0 skips; eta = 1 is normalised SGD.
    The gradient is to be that of the return: advantages over a std make a step of one length out of noise.
    Source: arXiv 2306.01854, from knowledge. Confidence: secondary.
    """

    length: float = 0.05
    eta: float | None = None
    cap: float = 10.0

    @hookimpl
    def start(self) -> None:
        """No momentum yet."""
        self.past: dict[str, Tensor] = {}
        self.taken = 0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, T] minus the weighted advantage, with the gradient of logp."""
        assert batch.advantages is not None
        moved = sequence_log_ratio(output.log_ratio.detach(), batch.mask, normalize=False).clamp(-LIMIT, LIMIT)
        slope = (output.log_ratio - output.log_ratio.detach()).exp()  # 1, with the gradient of logp
        return -moved.exp().clamp_max(self.cap) * slope * batch.advantages

    @hookimpl
    def update(self, learner: Any, batch: Batch) -> Mapping[str, float]:
        """Both gradients, the momentum, the step."""
        metrics = learner.backward(batch)
        gradient, batch = learner.gradient(), learner.with_start(batch)
        momentum = gradient
        if "step" in self.past:
            before, _ = gradient_at(learner, batch, self.past["step"], -1.0)
            momentum = gradient + (1 - self.rate()) * (self.past["momentum"] - before)
        stride(learner, self.past, momentum, scheduled(learner, self.length))
        self.taken += 1
        return {**metrics, "grad_norm": float(gradient.norm())}

    def rate(self) -> float:
        """The eta of this step."""
        return float((self.taken + 1) ** (-2 / 3)) if self.eta is None else self.eta
