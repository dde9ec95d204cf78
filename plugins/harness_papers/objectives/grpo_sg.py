"""GRPO-SG: unlikely tokens, whose gradients are large, weigh less."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked

if TYPE_CHECKING:
    from harness import PolicyOutput


@method(
    name="grpo-sg", paper="2511.00066", base="grpo(beta=0)", experimental=True,
    neutral={"low": 1.0, "high": 1.0},
    scope="group",
)  # fmt: skip
class GRPOSG:
    """A token weighs by a shaped function of its probability: the gradient of an unlikely one is large and sharp.

    w = clip(scale (sigmoid(sg[p] / tau) - shift), low, high) with p = exp(logp);  loss w times the loss below.

    Public reviews of the first version (TR-GRPO) name a clipped, rising sigmoid of p, which multiplies the ratio inside
    the surrogate; the constants are ours, and the weight is outside, where it cannot move the clip.
    Edge cases: A = 0 gives 0; low = high = 1 is the base.
    Source: arXiv 2511.00066, the abstract and reviews. Confidence: abstract (reconstructed).
    """

    scale: float = 2.0
    tau: float = 0.25
    shift: float = 0.25
    low: float = 0.5
    high: float = 1.4

    @hookimpl(wrapper=True)
    def policy_loss(self, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, weighted."""
        losses = yield
        likely = masked(output.logp.detach(), output.mask).exp()
        return losses * self.weight(likely)

    def weight(self, likely: Tensor) -> Tensor:
        """The weights of tokens of the given probability, elementwise."""
        return (self.scale * (torch.sigmoid(likely / self.tau) - self.shift)).clamp(self.low, self.high)
