"""CISPO: clip the weight, keep the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2506.13585", base="grpo(beta=0)", search={"cap": (1.5, 10.0, "log")}, scope="group")
class CISPO:
    """The importance weight is capped and detached, so that no token ever loses its gradient.

    token loss -sg[clip(r, floor, cap)] A logp;  L = mean over all tokens of the minibatch.

    cap: the bound on the ratio itself, 4 to 5 recommended (arXiv 2510.13786); verl, slime and NeMo spell it 1 + high,
    TRL as we do. floor: 0, none, as published; verl's is 1 - low. mask_clipped: also drop the tokens that PPO would
    clip at the same bounds (the paper's unified form with its mask on; ROLL's option, Trinity), which takes away the
    gradient that the cap is there to keep.
    Edge cases: the value holds logp and compares with no PPO loss; a ratio of 1 gives REINFORCE's gradient.
    Source: arXiv 2506.13585; TRL, verl, NeMo, slime. Confidence: code.
    """

    cap: float = 5.0
    floor: float = 0.0
    mask_clipped: bool = False

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted score-function loss."""
        assert batch.advantages is not None
        ratio = output.ratio.detach()
        loss = -ratio.clamp(self.floor, self.cap) * batch.advantages * output.logp
        if not self.mask_clipped:
            return loss
        above, below = ratio > self.cap, ratio < self.floor
        clipped = torch.where(batch.advantages > 0, above, (batch.advantages < 0) & below)
        return torch.where(clipped, torch.zeros_like(loss), loss)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
