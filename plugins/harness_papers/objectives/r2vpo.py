"""R2VPO: a limit on the variance of the ratio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="r2vpo", paper="2601.03320", base="grpo(beta=0)", experimental=True)
class R2VPO:
    """The mean of (ratio - 1)^2 is held below a limit by a multiplier that is learnt along, in place of a clip.

    token loss -(r A - lam (r - 1)^2), token mean;  after every step lam <- max(0, lam + dual_lr (m - delta)), where m
    is the mean of (r - 1)^2 over the tokens that the step trained on, each at the weights that it met.

    lam: where the multiplier starts (0.04 is what a public implementation keeps fixed). delta, dual_lr: ours, the
    paper's were not seen; dual_lr = 0 keeps lam.
    State: the multiplier. Edge cases: lam = 0 is the surrogate without a clip; tokens with A = 0 are drawn to ratio 1,
    unlike CFPO's.
    Source: arXiv 2601.03320, 2605.26784, a third-party implementation. Confidence: secondary (dual step reconstructed).
    """

    lam: float = 0.04
    delta: float = 0.01
    dual_lr: float = 1.0

    @hookimpl
    def start(self) -> None:
        """The multiplier, and what the step has seen: the sum of (r - 1)^2 and how many tokens."""
        self.multiplier = float(self.lam)
        self.seen: list[Tensor] = []

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The penalised surrogate."""
        assert batch.advantages is not None
        square = (output.ratio - 1).square()
        if self.dual_lr:
            self.seen.append(torch.stack([masked(square.detach(), batch.mask).sum(), (batch.mask > 0).sum()]))
        return self.multiplier * square - output.ratio * batch.advantages

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """Move the multiplier."""
        if self.seen:
            total, count = torch.stack(self.seen).sum(0).tolist()
            self.multiplier = max(0.0, self.multiplier + self.dual_lr * (total / max(count, 1.0) - self.delta))
            self.seen = []
        return {"r2vpo_multiplier": self.multiplier}
