"""RDPO: rewards on a robust scale, whitened against one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.mathematics import mean_rank
from harness_papers.reward_columns import active

if TYPE_CHECKING:
    from harness import Batch


@method(name="rdpo-decorrelated", paper="2605.13641", base="grpo(beta=0)", experimental=True)
class RDPO:
    """Rewards are mapped to normal quantiles within the group, then whitened, so that correlated ones count less.

    u_{i,k} = m Phi^-1((rank_i - 1/2) / G), ranks averaged over ties, m = std_g / (std_g + spread), centred;
    y_i = Sigma^{-1/2} u_i with Sigma = cov(u) + ridge I over the batch's rows that have the same columns;
    A_i = sum_k w_k y_{i,k}, over sqrt(number of those columns) if `mean`.

    The paper's own equations were not seen: quantiles, the factor m, ridge and spread are reconstructed from its
    abstract. Duplicated rewards are damped (to sqrt(2) u from 2 u), not removed.
    Edge cases: a column that is constant in a group is 0 there; columns that do not apply to a row, or have weight 0,
    take no part; groups of one get 0.
    Source: arXiv 2605.13641. Confidence: abstract (reconstructed).
    """

    ridge: float = 1e-3
    spread: float = 0.1
    mean: bool = False

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Quantiles, whitening, sum."""
        rewards = batch.rewards[:, active(batch)]
        there = ~rewards.isnan()
        whitened = self._whiten(self._quantiles(batch.groups, rewards), there)
        combined = whitened @ batch.reward_weights[active(batch)]
        return combined / there.sum(-1).clamp_min(1).sqrt() if self.mean else combined

    def _quantiles(self, groups: Groups, rewards: Tensor) -> Tensor:
        """[N, K] normal scores, small where the raw rewards of the group are close; 0 where a reward is missing."""
        share = (mean_rank(groups, rewards) + 0.5) / groups.count(~rewards.isnan()).clamp_min(1)
        deviation = groups.std(rewards)
        scores = groups.center(torch.special.ndtri(share))
        return torch.where(deviation > 0, scores * deviation / (deviation + self.spread), torch.zeros_like(scores))

    def _whiten(self, scores: Tensor, there: Tensor) -> Tensor:
        """[N, K] scores whitened over the rows that have the same columns."""
        kinds = Groups(there.long())
        products = (scores[:, :, None] * scores[:, None, :]).flatten(1)
        size = kinds.count(expand=False)[:, None]
        width = scores.shape[1]
        covariance = (kinds.sum(products, expand=False) / size).reshape(-1, width, width)
        values, vectors = torch.linalg.eigh(covariance + self.ridge * torch.eye(width).to(covariance))
        root = vectors * values.clamp_min(self.ridge).rsqrt()[:, None, :] @ vectors.mT
        whitened = (root.index_select(0, kinds.index) * scores[:, None, :]).sum(-1)
        return torch.where(there, whitened, torch.zeros_like(scores))
