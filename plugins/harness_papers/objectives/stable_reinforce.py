"""StableReinforce: bounded log-ratios, and no outliers among the advantages."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss, sequence_mean_weights, whiten

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="stable-reinforce", paper="2505.02835", base="reinforce-pp", clips=True)
class StableReinforce:
    """Log-ratios are bounded before they are exponentiated, and advantages beyond three sigma count for nothing.

    r = exp(clamp(logp - logp_old, -ln bound, ln bound)), PPO's clip, mean over tokens, then over completions.
    z = (A - mean) / std over all tokens of the batch (over n, variance at least 1e-8), A that of the stack below;
    z = 0 where |z| > sigma.

    The authors' code compares the scaled value with the raw mean plus or minus 3, and cuts at 10 again; the rule of the
    paper is here. Its reward for analyses that agree with the answer needs a judge and is left out.
    Edge cases: equal advantages give 0; groups are those of the stack below. On its base, which standardizes over the
    batch, a group of one or of equals has what sets it apart from the others.
    Source: arXiv 2505.02835, the authors' code. Confidence: code.
    """

    clip: float = 0.2
    bound: float = 1e3
    sigma: float = 3.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, standardized, without outliers."""
        advantages = yield
        scaled = whiten(advantages, batch.mask, correction=0, floor=True)
        return torch.where(scaled.abs() > self.sigma, torch.zeros_like(scaled), scaled)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate of the bounded ratio."""
        assert batch.advantages is not None
        most = math.log(self.bound)
        return ppo_clip_loss(output.log_ratio.clamp(-most, most).exp(), batch.advantages, self.clip, self.clip)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over tokens, then over completions."""
        return sequence_mean_weights(batch.mask)
