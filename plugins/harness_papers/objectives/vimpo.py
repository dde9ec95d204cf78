"""VIMPO: the policy is its own critic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import (
    discounted_returns,
    masked,
    ppo_clip_loss,
    sequence_log_ratio,
    token_mean_weights,
    whiten,
)
from harness_papers.whole_groups import counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2606.20008", needs={"reference"}, clips=True)
class VIMPO:
    """The log-ratio to the reference minus its KL is a TD error of a value; it is fitted to the reward, and acted on.

    q_t = beta (logp - logp_ref), k_t = beta KL(pi || ref) over the whole vocabulary;
    L_V = 1/2 mean_i ( sum_t (q_t - sg[k_t]) - (R_i - mean_g R) )^2;
    x_t = q_t - k_t at the start of the step, A_t = x_t + lam A_{t+1}, whitened over tokens;
    L = L_V + actor (token mean of the clipped surrogate, dual clip).

    lam: 1 in the authors' code. clip_low, clip_high: of the surrogate. k is measured once a step, at its starting
    weights, by a charged pass of both policies. A sampled KL would make q - k zero.
    Edge cases: where pi is the reference, x and the actor's term are 0; equal rewards draw the sum to 0, as does a
    group of one: A comes from log-ratios, not from the reward, and is not 0 there.
    Source: arXiv 2606.20008, the authors' code. Confidence: code.
    """

    beta: float = 5e-4
    actor: float = 5e-3
    lam: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual: float | None = 10.0

    @hookimpl
    def annotate(self, batch: Batch, policy: Any, state: Any) -> Mapping[str, Tensor]:
        """The exact KL to the reference, and log-probabilities at the start of the step."""
        return {"vimpo_kl": policy.kl(batch, state.reference), "vimpo_logp": policy.evaluate(batch).logp}

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """[N, T] whitened estimates from the implied TD errors."""
        logp = batch.extras.get("vimpo_logp", batch.logp_old)
        assert logp is not None
        assert batch.logp_ref is not None
        error = self.beta * masked(logp - batch.logp_ref, batch.mask) - self._charge(batch)
        estimates = discounted_returns(error, batch.mask, self.lam)
        still = estimates.abs().amax() <= torch.finfo(estimates.dtype).eps if estimates.numel() else True
        return torch.zeros_like(estimates) if still else whiten(estimates, batch.mask)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same, in the actor's part."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The actor's clipped surrogate."""
        assert batch.advantages is not None
        return ppo_clip_loss(output.ratio, batch.advantages, self.clip_low, self.clip_high, self.dual)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput, hooks: Any) -> Tensor:
        """The value's loss plus the actor's."""
        assert batch.weights is not None
        assert batch.logp_ref is not None
        who = counted(batch)
        gap = self.beta * (output.logp - batch.logp_ref) - self._charge(batch)
        value = sequence_log_ratio(gap, batch.mask, normalize=False)[:, 0]
        error = value - batch.groups.center(batch.reward, who)
        fit = (error.square() * who).sum() / (2 * who.sum().clamp_min(1))
        return fit + self.actor * (batch.weights * hooks.policy_loss(batch=batch, output=output)).sum()

    def _charge(self, batch: Batch) -> Tensor:
        """[N, T] k_t; 0 where nobody measured it."""
        return self.beta * batch.extras.get("vimpo_kl", torch.zeros_like(batch.mask)).to(batch.mask.dtype)
