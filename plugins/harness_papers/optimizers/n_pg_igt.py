"""N-PG-IGT: gradients at an extrapolated point, steps of one length."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.optimizers.directions import gradient_at, moved_policy, scheduled, stride

if TYPE_CHECKING:
    from harness import Batch


@method(name="n-pg-igt", paper="2302.01734", base="rloo(beta=0)")
class NPGIGT:
    """Completions and gradients come from a point ahead, so that the momentum is of the present; its length is dropped.

    th~ = th + ((1 - eta) / eta) (th - th_before);  sampling and the gradient g are at th~;
    m = (1 - eta) m + eta g;  th <- th - length m / ||m||.

    eta: None is the paper's (2 / (t + 2))^(4/5), t the steps so far. reach: the most of the factor (1 - eta) / eta.
    length: ours; the paper shrinks it like 1 / (t + 1), here the suite's schedule of the learning rate does. One update
    a batch, whatever the suite says of minibatches; where older weights sample, only the gradient is taken ahead.
    State: momentum and the last step. Edge cases: m = 0 skips the step; eta = 1 is normalised SGD.
    The gradient is to be that of the return: advantages over a std make a step of one length out of noise.
    Source: arXiv 2302.01734, from knowledge. Confidence: secondary.
    """

    length: float = 0.05
    eta: float | None = None
    reach: float = 9.0

    @hookimpl
    def start(self) -> None:
        """No momentum yet."""
        self.past: dict[str, Tensor] = {}
        self.taken = 0

    @hookimpl(wrapper=True)
    def generate(self, state: Any) -> Generator[None, Any, Any]:
        """Sample at the point ahead."""
        with moved_policy(state.policy, self.past.get("step"), self._ahead()):
            return (yield)

    @hookimpl
    def update(self, learner: Any, batch: Batch) -> Mapping[str, float]:
        """The gradient ahead, the momentum, the step."""
        fresh, eta = batch.replace(logp_old=None), self.rate()  # the ratio to the weights ahead, which sampled, is 1
        if "step" in self.past:
            gradient, metrics = gradient_at(learner, fresh, self.past["step"], self._ahead())
            momentum = torch.lerp(self.past["momentum"], gradient, eta)
        else:
            metrics = learner.backward(fresh)
            momentum = gradient = learner.gradient()
        stride(learner, self.past, momentum, scheduled(learner, self.length))
        self.taken += 1
        return {**metrics, "grad_norm": float(gradient.norm())}

    def rate(self) -> float:
        """The eta of this step."""
        return float((2 / (self.taken + 2)) ** 0.8) if self.eta is None else self.eta

    def _ahead(self) -> float:
        eta = self.rate()
        return min((1 - eta) / eta, self.reach)
