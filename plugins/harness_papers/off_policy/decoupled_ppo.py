"""Decoupled PPO: one policy to stay near, another to correct for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss
from harness_papers.off_policy.behaviour import sampler_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="decoupled-ppo", paper="2110.00641", base="grpo(beta=0)", clips=True, neutral={"weigh": False}, scope="group"
)
class DecoupledPPO:
    """The clip holds the policy near a recent one; a detached weight corrects for the older one that wrote the tokens.

    r = pi / pi_prox;  w = sg[pi_prox / pi_behaviour];  l = -w min(r A, clip(r, 1 - clip, 1 + clip) A), where pi_prox
    is the learner at the start of the step (`logp_old`) and pi_behaviour what sampled (`logp_sampler`).

    clip_high: another upper bound. dual: with c > 1, a negative advantage loses at most c |A| before w (AReaL).
    cap: w is at most this (AReaL once had 5; None is the paper). weigh: False leaves w out, as AReaL does without a
    rejection setting. Rejection is a wrapper of its own: mis, icepop, rollout-rejection(denominator='all').
    Edge cases: samples of the present weights give PPO; an unknown sampler probability gives w = 1.
    Source: arXiv 2110.00641; AReaL (arXiv 2505.24298), verl. Confidence: code.
    """

    clip: float = 0.2
    clip_high: float | None = None
    dual: float | None = None
    cap: float | None = None
    weigh: bool = True

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted clipped surrogate."""
        assert batch.advantages is not None
        high = self.clip if self.clip_high is None else self.clip_high
        losses = ppo_clip_loss(output.ratio, batch.advantages, self.clip, high, self.dual)
        if not self.weigh:
            return losses
        return sampler_gap(batch).exp().clamp_max(float("inf") if self.cap is None else self.cap) * losses
