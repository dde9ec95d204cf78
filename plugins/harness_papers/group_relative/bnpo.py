"""BNPO: rewards scaled by a Beta density of the pass rate that is refitted to every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, sequence_sum_weights

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2506.02864", base="grpo(beta=0, clip_high=0.28, dual=10.0)")
class BNPO:
    """The centred reward over a Beta density of the prompt's pass rate; the batch decides the density's shape.

    p = mean_g(R);  over the prompts of the batch m = mean(p), v = var(p) (n - 1), a = (m (1 - m) / v - 1) m,
    b = (m (1 - m) / v - 1) (1 - m);  alpha = max(1, 1 + a/3), beta = max(1, 1 + b/3);
    A_i = (R_i - p) min(1 / Beta(p; alpha, beta), cap). L = mean over completions of their token sums.
    Every reward column on its own ("advantage decomposition"), then the mean over columns, by their weights.

    low, high: the range of the rewards, mapped to [0, 1]. columns: False takes the weighted sum as one reward.
    single: "raw" takes p = 0 for a group of one, as the authors' code does (advantages up to the cap).
    Edge cases: alpha = beta = 1 is Dr. GRPO, 3/2 GRPO up to a constant; p of 0 or 1 gives 0; one prompt, or the same p
    everywhere (where the authors' code divides by 0), weighs 1. Not what TRL calls bnpo, a mean over local tokens.
    Source: arXiv 2506.02864 and the authors' code. Confidence: code.
    """

    low: float = 0.0
    high: float = 1.0
    cap: float = 1e6
    columns: bool = True
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "bnpo")
        if not self.low < self.high:
            msg = f"bnpo(low={self.low}, high={self.high}): low must be below high"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, weighted, averaged over columns."""
        rewards = batch.rewards if self.columns else batch.reward[:, None]
        weights = batch.reward_weights if self.columns else torch.ones_like(batch.reward_weights[:1])
        share = (rewards - self.low) / (self.high - self.low)
        mean = batch.groups.mean(share, expand=False)
        rate, apart = mean.clamp(0, 1), (share - mean.index_select(0, batch.groups.index)).nan_to_num()
        if self.single == "raw":
            alone = (batch.groups.count() == 1)[:, None] & ~share.isnan()
            apart = torch.where(alone, share, apart)
            rate = torch.where((batch.groups.count(expand=False) == 1)[:, None], 0.0, rate)
        scaled = apart * self._weight(rate).index_select(0, batch.groups.index) * weights
        return scaled.sum(1) / (~rewards.isnan()).sum(1).clamp_min(1)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)

    def _weight(self, rate: Tensor) -> Tensor:
        """[groups, K] one over the density at every rate [groups, K]."""
        mean = rate.mean(0)
        spread = ((rate - mean).square().sum(0) / max(len(rate) - 1, 1)).expand_as(rate)
        fitted = spread > torch.finfo(rate.dtype).eps ** 2
        size = mean * (1 - mean) / torch.where(fitted, spread, torch.ones_like(spread)) - 1
        alpha, beta = (1 + size * mean / 3).clamp_min(1), (1 + size * (1 - mean) / 3).clamp_min(1)
        density = torch.special.xlogy(alpha - 1, rate) + torch.special.xlog1py(beta - 1, -rate)
        density = density + torch.lgamma(alpha + beta) - torch.lgamma(alpha) - torch.lgamma(beta)
        return torch.where(fitted, (-density).exp().clamp_max(self.cap), torch.ones_like(rate))
