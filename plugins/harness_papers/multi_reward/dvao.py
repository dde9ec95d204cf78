"""DVAO: z-scores of the rewards, weighted by how much each of them varies in the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2605.25604", base="grpo(beta=0)", scope="group")
class DVAO:
    """Rewards that separate a group's completions weigh more in it, those that say nothing weigh nothing.

    s_k = std_g(r_k) over n;  omega_k = w_k s_k / sum_l w_l s_l in every group;
    A_i = sum_k omega_k (r_{i,k} - mean_g(r_k)) / s_k = sum_k w_k (r_{i,k} - mean_g(r_k)) / (sum_l w_l s_l + eps).

    The weights are the task's (1 / K in the paper, with every reward in [0, 1]); eps is ours.
    Edge cases: all columns constant, and groups of one, give 0; one column that varies gives its z-score. A negative
    weight counts with its size in the denominator.
    Source: arXiv 2605.25604 by way of notes that give the equations; n or n - 1 is not said. Confidence: secondary.
    """

    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centre the weighted sum, divide by the weighted sum of the deviations."""
        groups = batch.groups
        apart = groups.center(batch.rewards)
        number = groups.count(~batch.rewards.isnan(), expand=False).clamp_min(1)
        std = (groups.sum(apart.square(), expand=False) / number).sqrt()
        spread = (std @ batch.reward_weights.abs()).index_select(0, groups.index)
        centred = apart @ batch.reward_weights
        return torch.where(spread > 0, centred / (spread + self.eps), torch.zeros_like(centred))
