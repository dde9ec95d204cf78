"""M2PO: as many tokens leave as the second moment of the log-ratio demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import log_gap, moment_bound, moment_keep, ppo_clip_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

FORMS = ("mask", "mask-stale", "clip")


@method(name="m2po", paper="2510.01161", base="grpo(beta=0)", clips=True)
class M2PO:
    """Only as many extreme tokens are masked as bring the mean squared log-ratio of the rest under a budget.

    With d = logp - logp_old over the tokens of the minibatch: the largest d^2 are left out until the mean of the rest
    is below budget;  token loss -keep r A. Masked tokens stay in the denominator.

    form: "mask" is the paper; "mask-stale" measures d between the policy at the start of the step and the one that
    sampled (AReaL), so that it only acts on stale data; "clip" is the authors' code: d over harmful tokens (A > 0 and
    r > 1, or A < 0 and r < 1), a bound t for |d| that brings their mean square within the budget, then PPO's clip to
    [e^-t, e^t], never tighter than [1 - floor_low, 1 + floor_high].
    Edge cases: within the budget nothing is masked or clipped; one token always stays; ties leave in row order.
    Source: arXiv 2510.01161, the authors' code, AReaL; they differ in all of this. Confidence: code.
    """

    budget: float = 0.04
    form: str = "mask"
    floor_low: float = 0.3
    floor_high: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a form that does not exist."""
        if self.form not in FORMS:
            msg = f"m2po(form={self.form!r}): choose {', '.join(FORMS)}"
            raise PluginError(msg)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate without, or within, its extreme tokens."""
        assert batch.advantages is not None
        moved = output.log_ratio.detach()
        if self.form == "clip":
            harmful = (batch.mask > 0) & (batch.advantages * moved > 0)
            bound = moment_bound(moved, harmful, self.budget)
            low, high = 1 - (-bound).exp(), bound.exp() - 1
            return ppo_clip_loss(
                output.ratio, batch.advantages, low.clamp_min(self.floor_low), high.clamp_min(self.floor_high)
            )
        if self.form == "mask-stale":
            moved = log_gap(output.logp_old, batch.logp_sampler, batch.mask)
        keep = moment_keep(moved, batch.mask, self.budget)
        return torch.where(keep, -output.ratio * batch.advantages, torch.zeros_like(output.ratio))
