"""Off-policy GRPO: advantages and clip of a policy that is some steps old."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import log_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="grpo-offpolicy", paper="2505.22257", base="grpo", clips=True, scope="group")
class GRPOOffPolicy:
    """Ratios are to the old policy that wrote the completions, and the clip is centred on the step's own start.

    A_i = (R_i - mean_g(R)) / sqrt(var_g(R) + eps), var over n - 1;  with rho = pi / pi_sampler and
    c = pi_start / pi_sampler (detached): token loss -min(rho A, clip(rho, max(c - clip, 0), c + clip) A), plus the
    base's KL. Groups of equal rewards leave loss, KL and divisors.

    The age v of the sampling policy and the number i of updates per batch are the suite's (`sampling.lag`,
    `learner.updates_per_batch`); the paper proposes v = 10, i = 1. Its reference follows the policy from time to time;
    here it stays the first. mask_flat: False keeps groups of equal rewards in.
    Edge cases: a fresh sampler has c = 1 and is GRPO; equal rewards and groups of one give 0.
    Source: arXiv 2505.22257 by way of notes that quote the formulas. Confidence: secondary.
    """

    clip: float = 0.2
    eps: float = 1e-6
    mask_flat: bool = True

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, over the root of variance and eps."""
        return batch.groups.center(batch.reward) / (batch.groups.std(batch.reward).square() + self.eps).sqrt()

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """Groups whose rewards differ."""
        spread = batch.groups.max(batch.reward) > batch.groups.min(batch.reward)
        return spread if self.mask_flat else torch.ones_like(spread)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate that is clipped around the policy of the step's start."""
        assert batch.advantages is not None
        ratio = log_gap(output.logp, batch.logp_sampler, batch.mask).exp()
        centre = log_gap(output.logp_old.detach(), batch.logp_sampler, batch.mask).exp()
        near = torch.minimum(torch.maximum(ratio, (centre - self.clip).clamp_min(0)), centre + self.clip)
        return torch.maximum(-ratio * batch.advantages, -near * batch.advantages)
