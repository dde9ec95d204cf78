"""RPG: surrogates whose gradient is that of reward minus KL, off-policy too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

CHOICES = {
    "kl": ("ufkl", "urkl", "fkl", "rkl"),
    "form": ("reinforce", "clip", "differentiable"),
    "branch": ("advantage", "term", "product"),
}
LIMIT = 10.0  # of a KL value, beyond which it has no gradient


@method(paper="2505.17508", base="grpo(beta=0)", clips=True, scope="group")
class RPG:
    """Reward minus a KL to the old policy, with the importance weights that make its gradient right off-policy.

    With w = pi / pi_old, w' = clip(w, 1 - clip_low, 1 + clip_high), A = R - mean_g(R):
    form "reinforce": token loss -sg[A w' + beta k(w')] logp, with k = 1 (fkl), -w (ln w + 1) (rkl), 1 - w (ufkl) or
    -w ln w (urkl); "clip": -keep sg[A w + beta k(w')] logp, where tokens leave as in PPO: for a positive sign from
    w = 1 + clip_high on, for a negative one below 1 - clip_low and from w = dual on; "differentiable":
    -w A + beta K(w), with K = -ln w, w ln w, w - ln w - 1 or w (ln w - 1) + 1, cut off at 10 except fkl.

    kl: fkl and rkl are normalised, ufkl and urkl are for unnormalised densities. branch: whose sign decides in "clip":
    the advantage's; "term", that of A + beta k / w; "product", that of the term times logp, which is the
    opposite, as the authors' third version has it.
    Edge cases: A = 0 keeps the force of the KL; only differentiable losses have a value that means something.
    Source: arXiv 2505.17508 and the authors' code. Confidence: code.
    """

    kl: str = "ufkl"
    form: str = "reinforce"
    beta: float = 1e-4
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual: float = 3.0
    branch: str = "advantage"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                msg = f"rpg({name}={getattr(self, name)!r}): choose {', '.join(known)}"
                raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, not scaled."""
        return batch.groups.center(batch.reward)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate of the chosen form."""
        assert batch.advantages is not None
        if self.form == "differentiable":
            return self.beta * self._divergence(output.log_ratio) - output.ratio * batch.advantages
        weight = output.ratio.detach()
        held = weight.clamp(1 - self.clip_low, 1 + self.clip_high)
        pull = self.beta * self._pull(held)
        if self.form == "reinforce":
            return -(batch.advantages * held + pull) * output.logp
        term = batch.advantages + pull / weight
        sign = {"advantage": batch.advantages, "term": term, "product": term * output.logp.detach()}[self.branch]
        rising = weight < 1 + self.clip_high
        falling = (weight >= 1 - self.clip_low) & (weight < self.dual)
        loss = -term * weight * output.logp
        return torch.where(torch.where(sign > 0, rising, falling), loss, torch.zeros_like(loss))

    def _divergence(self, log_w: Tensor) -> Tensor:
        """K(w) of every token."""
        if self.kl == "fkl":
            return -log_w
        w = log_w.exp()
        value = {"rkl": w * log_w, "ufkl": w - log_w - 1, "urkl": w * (log_w - 1) + 1}[self.kl]
        return value.clamp(-LIMIT, LIMIT)

    def _pull(self, w: Tensor) -> Tensor:
        """k(w): what stands beside A w in front of the score."""
        if self.kl == "fkl":
            return torch.ones_like(w)
        return {"rkl": -w * (w.log() + 1), "ufkl": 1 - w, "urkl": -w * w.log()}[self.kl]
