"""Beyond 80/20: only the tokens at which the policy decides something are trained on."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.entropy.monitor import token_entropy
from harness_papers.off_policy.behaviour import check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

FAR = 1e-30


@method(
    name="high-entropy-tokens", paper="2506.01939", base="dapo", needs={"entropy"}, clips=True, neutral={"share": 1.0}
)
class HighEntropyTokens:
    """Only the fifth of the tokens with the highest entropy, where a completion forks, gets a policy gradient.

    A token keeps its loss iff its entropy is at least the (1 - share) quantile over all tokens of the minibatch.

    share: 0.2 in the paper, which builds on DAPO. denominator: "all" divides by what the loss divides by (the paper,
    TRL); "kept" by the weight of what is left. KL and entropy terms are of all tokens. The quantile is linear between
    neighbours.
    Edge cases: share = 1 changes nothing; equal entropies keep every token.
    Source: arXiv 2506.01939; TRL (top_entropy_quantile). Confidence: code.
    """

    share: float = 0.2
    denominator: str = "all"

    def __post_init__(self) -> None:
        """Refuse a denominator that does not exist."""
        check_choice("high-entropy-tokens: denominator", self.denominator, ("all", "kept"))

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, 0 at tokens of low entropy."""
        losses = yield
        entropy = token_entropy("high-entropy-tokens", output).detach()
        counted = batch.mask > 0
        if self.share >= 1 or not counted.any():
            return losses
        kept = entropy >= torch.quantile(entropy[counted], 1 - self.share)
        losses = torch.where(kept, losses, torch.zeros_like(losses))
        if self.denominator == "all" or batch.weights is None:
            return losses
        return losses * batch.weights.sum() / (batch.weights * kept).sum().clamp_min(FAR)
