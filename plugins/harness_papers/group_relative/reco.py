"""ReCo: against the concentration of the policy on a few answers."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, ppo_clip_loss
from harness_papers.logps import mean_logp

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LEAST = 1e-6


@method(name="reco", paper="2607.26862", base="grpo", experimental=True, clips=True, scope="group")
class ReCo:
    """Likely completions weigh less in their group, and tokens move by the ratio of their Bernoulli variances.

    A_i <- u_i A_i, u_i proportional to 1 / p_i with p_i = exp(mean_t logp_old), mean 1 in the group;
    the ratio of the clipped loss is v = pi (1 - pi) / (pi_old (1 - pi_old)), whose value clips and weighs, and through
    which the gradient is that of logp (a derivative of pi (1 - pi) would change sign at 1/2).

    reweight, variance: either part alone. clip: both bounds, 0.2 as the base.
    Edge cases: equally likely completions weigh 1; a token of probability near 1 stops learning (1 - pi is at least
    1e-6); equal rewards and groups of one give 0.
    Source: abstract and digests of arXiv 2607.26862; both formulas are reconstructed. Confidence: abstract
    (reconstructed), not to be compared under the paper's name.
    """

    reweight: bool = True
    variance: bool = True
    clip: float = 0.2

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, rare completions first."""
        advantages = yield
        if not self.reweight:
            return advantages
        rarity = -mean_logp(batch).to(advantages.dtype)
        groups = batch.groups
        return advantages * ((rarity - groups.logsumexp(rarity)).exp() * groups.count())[:, None]

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate of the ratio of variances."""
        assert batch.advantages is not None
        if not self.variance:
            return ppo_clip_loss(output.ratio, batch.advantages, self.clip, self.clip)
        room, room_old = (_room(logp, batch.mask) for logp in (output.logp.detach(), output.logp_old.detach()))
        through = (output.log_ratio - output.log_ratio.detach()).exp()
        return ppo_clip_loss(output.ratio.detach() * room / room_old * through, batch.advantages, self.clip, self.clip)


def _room(logp: Tensor, mask: Tensor) -> Tensor:
    """1 - pi, at least 1e-6."""
    return (-torch.expm1(masked(logp, mask))).clamp_min(LEAST)
