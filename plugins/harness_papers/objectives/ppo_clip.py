"""PPO's clipped surrogate alone, with the switches that libraries added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, ppo_clip_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="ppo-clip", paper="1707.06347", base="reinforce", clips=True)
class PPOClip:
    """The surrogate loss of PPO, and nothing else: advantages, aggregation and KL are what stands beside it.

    By itself it is REINFORCE's advantages and sums under the clip.

    token loss -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = pi / pi_old.

    dual: with c > 1, a negative advantage loses at most c |A| (arXiv 1912.09729; verl always has it, with c = 3). cap:
    the ratio of the first term is at most this, whatever the sign of A (TRL's delta, arXiv 2505.07291). log_limit: the
    log-ratio is clamped to -+ this before the exponential (verl, OpenRLHF); None as in TRL, slime, NeMo.
    Edge cases: with one on-policy update the ratio is 1, the clip inert, and the loss -A while its gradient is not 0.
    Source: arXiv 1707.06347; verl, TRL, OpenRLHF, NeMo, slime. Confidence: code.
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual: float | None = None
    cap: float | None = None
    log_limit: float | None = 20.0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate."""
        assert batch.advantages is not None
        ratio = self._ratio(output)
        if self.cap is None:
            return ppo_clip_loss(ratio, batch.advantages, self.clip_low, self.clip_high, self.dual)
        first = -ratio.clamp_max(self.cap) * batch.advantages
        loss = torch.maximum(first, -ratio.clamp(1 - self.clip_low, 1 + self.clip_high) * batch.advantages)
        if self.dual is None:
            return loss
        return torch.where(batch.advantages < 0, torch.minimum(loss, -self.dual * batch.advantages), loss)

    def _ratio(self, output: PolicyOutput) -> Tensor:
        gap = masked(output.logp - output.logp_old, output.mask)
        return (gap if self.log_limit is None else gap.clamp(-self.log_limit, self.log_limit)).exp()
