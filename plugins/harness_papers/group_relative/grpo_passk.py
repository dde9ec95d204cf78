"""GRPO pass@k: only the best answer is reinforced, by how much it beats the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(name="grpo-passk", paper="2503.19595", base="grpo(beta=0)", scope="group")
class GRPOPassK:
    """Leave-one-out credit for the best of the whole group: only the best sample changes the maximum.

    A_i = max_j R_j - max_{j != i} R_j, which is R_(1) - R_(2) for the best and 0 for the others;
    with `scale` over std_g + eps, std over n - 1.

    Edge cases: two tied best give all zeros, so binary rewards teach from lone successes only; a group of one gives 0.
    Source: arXiv 2503.19595 as verl implements it (scaled by default). Confidence: code.
    """

    scale: bool = True
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The best's lead."""
        groups, reward = batch.groups, batch.reward
        best = (groups.rank(reward) == groups.count() - 1) & (groups.count() > 1)
        lead = torch.where(best, reward - groups.max(reward, ~best), torch.zeros_like(reward))
        if not self.scale:
            return lead
        std = groups.std(reward)
        return torch.where(std > 0, lead / (std + self.eps), torch.zeros_like(lead))
