"""Clip-Cov: a few tokens that would cost the most entropy get no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss, token_mean_weights
from harness_papers.entropy.monitor import covariance

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="clip-cov", paper="2505.22617", base="grpo(beta=0)", clips=True,
    neutral={"low": 1.0, "high": 1.0}, neutral_to="grpo(beta=0)+token-mean",
)  # fmt: skip
class ClipCov:
    """A random handful of the tokens whose log-probability and advantage vary together most gets no gradient.

    cov = (A - mean A)(logp - mean logp) over the minibatch's tokens; candidates have low < cov < high and are not
    clipped by PPO already; max(1, floor(share * tokens)) of them, drawn without replacement, get loss 0;
    the others -min(r A, clip(r, 1 - clip, 1 + clip) A);  L = mean over all tokens.

    clip_high: another upper bound of the ratio.
    Edge cases: no candidate (equal advantages, say) is plain PPO; share = 1 takes all candidates.
    Source: arXiv 2505.22617; verl ("clip_cov"). Confidence: code.
    """

    share: float = 2e-4
    low: float = 1.0
    high: float = 5.0
    clip: float = 0.2
    clip_high: float | None = None

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput, state: Any) -> Tensor:
        """The clipped surrogate, 0 for the tokens drawn."""
        assert batch.advantages is not None
        advantages, ratio = batch.advantages, output.ratio
        high = self.clip if self.clip_high is None else self.clip_high
        losses = ppo_clip_loss(ratio, advantages, self.clip, high)
        found = covariance(advantages, output.logp, batch.mask)
        # Strictly worse than the plain ratio's loss: PPO's clip has taken the gradient already.
        free = losses <= -ratio * advantages
        candidates = (found > self.low) & (found < self.high) & free & (batch.mask > 0)
        count = max(1, int(self.share * int((batch.mask > 0).sum())))
        # Drawn by their rank, so that neither the order of the rows nor padding decides.
        places = candidates.flatten().nonzero()[:, 0]
        ranked = places[found.flatten()[places].argsort(stable=True)]
        drawn = torch.randperm(len(places), generator=state.generator)[:count].to(batch.device)
        lost = torch.zeros_like(candidates.flatten()).index_fill(0, ranked[drawn], value=True)
        return torch.where(lost.reshape(candidates.shape), torch.zeros_like(losses), losses)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
