"""DPPO: the trust region is a divergence, not a ratio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import binary_divergence, log_gap
from harness_papers.off_policy.behaviour import behaviour_logp

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

DIVERGENCES = ("tv", "kl", "top-tv", "top-kl")
USUAL = {"tv": 0.15, "kl": 0.05}  # limits of the authors


@method(
    name="dppo-divergence", paper="2602.04879", base="grpo(beta=0)", clips=True,
    needs=lambda m: {"top_logits"} if m.divergence.startswith("top") else set(),
    scope="group",
)  # fmt: skip
class DPPO:
    """A token is left out where the policy has moved too far in probability, not in ratio, the way it is pushed.

    p = pi, p0 = the policy that sampled;  left out where D > high, A > 0 and p > p0, or D > low, A <= 0 and p < p0;
    token loss -keep sg[min(p / p0, cap)] A logp. divergence: D = "tv" |p - p0|; "kl" of this token against all others;
    "top-tv" and "top-kl" over the old policy's likeliest tokens (those among the new one's 20, the rest is one event).

    low, high: None is 0.15 with tv and 0.05 with kl, as in the authors' script; they run it on dr-grpo's advantages and
    aggregation. cap: 10 (verl 20; its script 10000; None: no cap).
    anchor: "sampler" as published, "old" the policy at the start of the step (verl). sides: "both" leaves out
    whatever the sign of A (the IPO mask of prime-rl). through: the gradient goes through the ratio, -keep (p / p0) A
    without cap (prime-rl). penalty: weight of the squared log-ratio, on all tokens (prime-rl).
    Edge cases: A = 0 gives 0; the value holds logp. There is no dual clip.
    Source: arXiv 2602.04879; Stable-RL (the authors), verl, prime-rl. Confidence: code.
    """

    divergence: str = "tv"
    low: float | None = None
    high: float | None = None
    cap: float | None = 10.0
    anchor: str = "sampler"
    sides: str = "pushed"
    through: bool = False
    penalty: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for name, known in (
            ("divergence", DIVERGENCES),
            ("anchor", ("sampler", "old")),
            ("sides", ("pushed", "both")),
        ):
            if getattr(self, name) not in known:
                msg = f"dppo-divergence({name}={getattr(self, name)!r}): choose {', '.join(known)}"
                raise PluginError(msg)

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """The likeliest tokens of the policy at the start of the step, for the top divergences."""
        if not self.divergence.startswith("top"):
            return {}
        top = policy.evaluate(batch).top_logits
        if top is None:  # no row has a token
            return {}
        return {"top_ids": top.ids, "top_logp": top.logp}

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function (or ratio) loss of the tokens that stay."""
        assert batch.advantages is not None
        anchor = behaviour_logp(batch, output) if self.anchor == "sampler" else output.logp_old
        gap = log_gap(output.logp, anchor, batch.mask)
        keep = self._keep(batch, output, anchor)
        if self.through:
            loss = -gap.exp() * batch.advantages
        else:
            weight = gap.detach().exp()
            weight = weight if self.cap is None else weight.clamp_max(self.cap)
            loss = -weight * batch.advantages * output.logp
        return torch.where(keep, loss, torch.zeros_like(loss)) + self.penalty * gap.square()

    def _keep(self, batch: Batch, output: PolicyOutput, anchor: Tensor) -> Tensor:
        """[N, T] bool."""
        assert batch.advantages is not None
        logp = output.logp.detach()
        distance = self._top(batch, output) if self.divergence.startswith("top") else None
        if distance is None:
            distance = binary_divergence(logp, anchor, "kl" if self.divergence == "kl" else "tv")
        low, high = (self._usual if limit is None else limit for limit in (self.low, self.high))
        if self.sides == "both":
            return distance <= max(low, high)
        up, down = batch.advantages > 0, batch.advantages <= 0
        return ~((up & (logp > anchor) & (distance > high)) | (down & (logp < anchor) & (distance > low)))

    @property
    def _usual(self) -> float:
        """The published limit of the divergence."""
        return USUAL[self.divergence.removeprefix("top-")]

    def _top(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, T] the divergence over the likeliest tokens and one event more for the rest."""
        if output.top_logits is None or "top_ids" not in batch.extras:  # no row has a token
            return torch.zeros_like(batch.mask)
        same = batch.extras["top_ids"][..., :, None] == output.top_logits.ids[..., None, :]
        old = batch.extras["top_logp"].exp() * same.any(-1)
        new = (same * output.top_logits.logp.detach().exp()[..., None, :]).sum(-1)
        old = torch.cat([old, (1 - old.sum(-1, keepdim=True)).clamp_min(0)], -1)
        new = torch.cat([new, (1 - new.sum(-1, keepdim=True)).clamp_min(0)], -1)
        if self.divergence == "top-tv":
            return (old - new).abs().sum(-1) / 2
        tiny = torch.finfo(old.dtype).tiny
        return torch.where(old > 0, old * (old.clamp_min(tiny) / new.clamp_min(tiny)).log(), old).sum(-1)
