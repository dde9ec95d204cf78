"""GDPO: every reward is normalised on its own before they are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method, standardize
from harness.mathematics import leave_one_out_standardize, whiten

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2601.05242", base="grpo(beta=0)")
class GDPO:
    """Standardise every reward within its group before combining them, then standardise over the batch.

    A_{i,k} = (r_{i,k} - mean_g(r_k)) / (std_g(r_k) + eps);  S_i = sum_k w_k A_{i,k};
    A_i = (S_i - mean_b(S)) / (std_b(S) + eps), std over n - 1, over the completions of the step.

    tokens: the last step over tokens instead, (S - mu) / sqrt(var + 1e-8) (the authors' verl fork and verl; their TRL
    fork and TRL are the default). leave_one_out: the first step by mean and std of the others (NeMo's default).
    Edge cases: a column that is constant in a group adds 0 there; a missing reward (NaN) is left out of its column's
    statistics, a row without any gets 0; groups of one get 0 in the first step; a constant batch gives 0.
    Source: arXiv 2601.05242, the authors' forks. Confidence: code.
    """

    eps: float = 1e-4
    tokens: bool = False
    leave_one_out: bool = False

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Normalise, add, normalise."""
        scale = leave_one_out_standardize if self.leave_one_out else Groups.standardize
        combined = scale(batch.groups, batch.rewards, eps=self.eps) @ batch.reward_weights
        scored = ~batch.rewards.isnan().all(-1)
        if self.tokens:
            return whiten(combined[:, None], batch.mask * scored[:, None])
        return torch.where(scored, standardize(combined, scored, self.eps), torch.zeros_like(combined))
