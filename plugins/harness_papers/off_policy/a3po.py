"""A-3PO: the proximal policy is interpolated, not computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import log_gap, ppo_clip_loss
from harness_papers.off_policy.behaviour import behaviour_logp

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

GUARD = 1e-10  # in the logarithm of a mixture


@method(name="a3po", paper="2512.06547", base="grpo(beta=0)", clips=True, scope="group")
class A3PO:
    """Decoupled PPO whose proximal log-probabilities lie between those that sampled and the current ones, by age.

    With a behaviour policy of age D (steps since its weights): alpha = (D - 1) / D, 0 for D = 0;
    prox = behaviour + alpha (sg[logp] - behaviour);  r = exp(logp - prox), w = sg[exp(prox - behaviour)];
    token loss -w min(r A, clip(r, 1 - clip, 1 + clip) A).

    mixture: "log", or "linear", ln((1 - alpha) e^behaviour + alpha e^logp). The behaviour policy is the one that
    sampled, so no pass for `logp_old` is needed. The suite's `sampler.lag` makes data stale.
    Edge cases: D of 0 or 1 is PPO around the sampling policy.
    Source: arXiv 2512.06547 (id not verified), AReaL. Confidence: code.
    """

    clip: float = 0.2
    mixture: str = "log"

    def __post_init__(self) -> None:
        """Refuse a mixture that does not exist."""
        if self.mixture not in {"log", "linear"}:
            msg = f"a3po(mixture={self.mixture!r}): choose log or linear"
            raise PluginError(msg)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The decoupled surrogate."""
        assert batch.advantages is not None
        start = behaviour_logp(batch, output)
        near = self.proximal(output.logp.detach(), start, batch.age[:, None])
        ratio = log_gap(output.logp, near, batch.mask).exp()
        weight = log_gap(near, start, batch.mask).exp()
        return weight * ppo_clip_loss(ratio, batch.advantages, self.clip, self.clip)

    def proximal(self, logp: Tensor, behaviour: Tensor, age: Tensor) -> Tensor:
        """Log-probabilities of the proximal policy, the one of a step ago: all three [N, T] or broadcast to it."""
        alpha = torch.where(age > 0, (age - 1) / age.clamp_min(1), torch.zeros_like(age)).to(logp.dtype)
        if self.mixture == "log":
            return behaviour + alpha * (logp - behaviour)
        mixed = (1 - alpha) * behaviour.exp() + alpha * logp.exp()
        return torch.where(alpha > 0, (mixed + GUARD).log(), behaviour)
