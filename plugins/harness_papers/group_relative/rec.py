"""REC: group-relative REINFORCE where clipping is the regularizer and ratios are optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

MODES = ("one-side", "two-side", "ring", "none")


@method(paper="2509.24203", base="grpo(beta=0)", clips=True)
class REC:
    """Group-relative REINFORCE with PPO's clip as a mask and without its importance weight.

    A_i = R_i - mean_g(R);  token loss -A_i logp on the tokens that the mask lets through, 0 on the others; token mean.
    mode "one-side": r <= 1 + clip_high where A > 0, r >= 1 - clip_low where A < 0, as PPO;  "two-side": both bounds
    for either sign;  "ring": two-side, or A > 0 and r <= 1 - ring_low, or A < 0 and r >= 1 + ring_high;  "none".

    importance: the weight r on top (REC-...-IS). scale: divides by std_g + eps, over n as in the code.
    Edge cases: equal rewards and groups of one give 0; at r = 1 nothing is masked and the gradient is REINFORCE's.
    Source: arXiv 2509.24203 and its examples in Trinity-RFT (ring from memory of the paper). Confidence: code.
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    mode: Literal["one-side", "two-side", "ring", "none"] = "one-side"
    ring_low: float = 0.6
    ring_high: float = 2.0
    importance: bool = False
    scale: bool = False
    eps: float = 1e-6

    def __post_init__(self) -> None:
        """Refuse a mode that does not exist."""
        if self.mode not in MODES:
            msg = f"rec(mode={self.mode!r}): choose one of {', '.join(MODES)}"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, and scaled if asked."""
        if self.scale:
            return batch.groups.standardize(batch.reward, eps=self.eps, correction=0)
        return batch.groups.center(batch.reward)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same, masked ones in the divisor."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of the tokens that are let through."""
        assert batch.advantages is not None
        ratio = output.ratio.detach()
        weight = self._passes(ratio, batch.advantages).to(ratio.dtype) * (ratio if self.importance else 1.0)
        return -weight * batch.advantages * output.logp

    def _passes(self, ratio: Tensor, advantages: Tensor) -> Tensor:
        """Bool [N, T]."""
        below, above = ratio <= 1 + self.clip_high, ratio >= 1 - self.clip_low
        if self.mode == "none":
            return torch.ones_like(below)
        if self.mode == "one-side":
            return torch.where(advantages > 0, below, above)
        if self.mode == "two-side":
            return below & above
        far = torch.where(advantages > 0, ratio <= 1 - self.ring_low, ratio >= 1 + self.ring_high)
        return (below & above) | far
