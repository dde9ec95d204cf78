"""REC, REP and RED: group-relative REINFORCE where clipping, a penalty or the choice of data regularizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import sequence_log_ratio, sequence_mean_weights, token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

CHOICES = {
    "mode": ("one-side", "two-side", "ring", "gspo", "none"), "weight": ("none", "importance", "advantage"),
    "penalty": ("none", "k2", "forward"), "drop": ("none", "balance"),
}  # fmt: skip


@method(paper="2509.24203", base="grpo(beta=0)", clips=True, scope=lambda m: "group" if m.drop == "none" else "batch")
class REC:
    """Group-relative REINFORCE with PPO's clip as a mask and without its importance weight.

    A_i = R_i - mean_g(R);  token loss -A_i logp on the tokens that the mask lets through, 0 on the others; token mean.
    mode "one-side": r <= 1 + clip_high where A > 0, r >= 1 - clip_low where A < 0, as PPO;  "two-side": both bounds
    for either sign;  "ring": two-side, or A > 0 and r <= 1 - ring_low, or A < 0 and r >= 1 + ring_high;  "gspo":
    one-side with the length-normalised ratio of the completion (bounds 3e-4, 4e-4), mean over completions;  "none".

    weight: "importance" multiplies by the ratio (REC-...-IS), "advantage" by exp(A / temperature) (RED-Weight).
    penalty: strength times (logp - logp_old)^2 ("k2", Kimi's OPMD) or -logp ("forward", AsymRE) on every token (REP).
    drop: "balance" draws as many answers below the mean as are not, leaves the others out of mean and loss (RED-Drop).
    scale: divides by std_g + eps, over n as in the code.
    Edge cases: equal rewards and groups of one give 0; at r = 1 nothing is masked and the gradient is REINFORCE's.
    Source: arXiv 2509.24203 and its code (Trinity-RFT). Confidence: code.
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    mode: Literal["one-side", "two-side", "ring", "gspo", "none"] = "one-side"
    ring_low: float = 0.6
    ring_high: float = 2.0
    weight: Literal["none", "importance", "advantage"] = "none"
    temperature: float = 1.0
    penalty: Literal["none", "k2", "forward"] = "none"
    strength: float = 0.1
    drop: Literal["none", "balance"] = "none"
    scale: bool = False
    eps: float = 1e-6

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                msg = f"rec({name}={getattr(self, name)!r}): choose one of {', '.join(choices)}"
                raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch, state: Any) -> Tensor:
        """Centred among those that are kept, and scaled if asked."""
        groups, reward = batch.groups, batch.reward
        kept = torch.ones_like(batch.correct)
        if self.drop == "balance":
            below = reward < groups.mean(reward)
            extra = 2 * groups.sum(below.to(reward.dtype)) - groups.count()
            chance = torch.rand(len(batch), generator=state.generator).to(reward)
            kept = ~(below & (groups.rank(chance, below) < extra))
        found = groups.standardize(reward, kept, self.eps, correction=0) if self.scale else groups.center(reward, kept)
        return torch.where(kept, found, torch.zeros_like(found))

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same, masked ones in the divisor; with "gspo" every completion."""
        return sequence_mean_weights(batch.mask) if self.mode == "gspo" else token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of the tokens that are let through, and the penalty of all."""
        assert batch.advantages is not None
        ratio = output.ratio.detach()
        if self.mode == "gspo":
            ratio = sequence_log_ratio(output.log_ratio.detach(), batch.mask).exp()
        weight = self._passes(ratio, batch.advantages).to(ratio.dtype)
        if self.weight == "importance":
            weight = weight * ratio
        elif self.weight == "advantage":
            weight = weight * (batch.advantages / self.temperature).exp()
        loss = -weight * batch.advantages * output.logp
        if self.penalty == "none":
            return loss
        return loss + self.strength * (output.log_ratio.square() if self.penalty == "k2" else -output.logp)

    def _passes(self, ratio: Tensor, advantages: Tensor) -> Tensor:
        """Bool [N, T] or [N, 1]."""
        below, above = ratio <= 1 + self.clip_high, ratio >= 1 - self.clip_low
        if self.mode == "none":
            return torch.ones_like(below)
        if self.mode in {"one-side", "gspo"}:
            return torch.where(advantages > 0, below, above)
        if self.mode == "two-side":
            return below & above
        far = torch.where(advantages > 0, ratio <= 1 - self.ring_low, ratio >= 1 + self.ring_high)
        return (below & above) | far
