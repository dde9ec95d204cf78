"""Reg-GRPO: the policy's own advantage is regressed on the group's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="reg-grpo", paper="2506.07464", base="grpo", experimental=True)
class RegGRPO:
    """The advantage that the policy implies by its log-ratios is regressed on GRPO's, without clip or min.

    D_i = sum_t (logp - logp_old);  B_i = (D_i - mean_g D) / (std_g D + eps), or (D_i - mean_g D) / tau where that std
    is below `least`;  L = mean over completions of (A_i - B_i)^2, plus GRPO's KL.

    The first update of a batch has D = 0 and no std: the guard by `least` and tau is ours, without it gradients
    explode. The paper's augmentation of prompts by difficulty is left out.
    Edge cases: equal rewards have target 0; with tau always it is GVPO with beta = 1 / tau, up to a factor.
    Source: arXiv 2506.07464 by way of a public note. Confidence: secondary (guard reconstructed).
    """

    eps: float = 1e-6
    tau: float = 1.0
    least: float = 1e-3

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean squared error of the implied advantage."""
        groups, who = batch.groups, counted(batch)
        moved = completion_log_ratio(batch, output, "old")
        spread = groups.std(moved, who)
        scale = torch.where(spread < self.least, torch.full_like(spread, self.tau), spread + self.eps)
        error = batch.advantage - groups.center(moved, who) / scale
        return (error.square() * who).sum() / who.sum().clamp_min(1)
