"""KL-Cov: a leash on the few tokens that would cost the most entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import token_mean_weights
from harness_papers.entropy.monitor import covariance, largest

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="kl-cov", paper="2505.22617", base="grpo(beta=0)")
class KLCov:
    """The tokens whose log-probability and advantage vary together most are held near the old policy; no ratio clips.

    cov as in clip-cov; the max(1, floor(share * tokens)) largest get -r A + coef |logp - logp_old|, the others -r A;
    L = mean over all tokens.

    share: 2e-4 (the paper has 2e-3 for its smaller model).
    Edge cases: in the first update after sampling the log ratio is 0 and so is the leash's gradient.
    Source: arXiv 2505.22617; verl ("kl_cov"). Confidence: code.
    """

    share: float = 2e-4
    coef: float = 1.0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The plain surrogate, with the penalty where the covariance is largest."""
        assert batch.advantages is not None
        counted = batch.mask > 0
        count = max(1, int(self.share * int(counted.sum())))
        held = largest(covariance(batch.advantages, output.logp, batch.mask), counted, count)
        penalty = self.coef * output.log_ratio.abs()
        return -output.ratio * batch.advantages + torch.where(held, penalty, torch.zeros_like(penalty))

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
