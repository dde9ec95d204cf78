"""GMPO: the geometric mean of a completion's ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import sequence_log_ratio, sequence_mean_weights
from harness_papers.off_policy.behaviour import check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="gmpo",
    paper="2507.20673",
    base="grpo(beta=0)",
    clips=True,
    search={"clip_low": (0.2, 0.8), "clip_high": (0.2, 0.8)},
    scope="group",
)
class GMPO:
    """The geometric mean of a completion's ratios takes the place of the arithmetic one, each clipped in log space.

    d = logp - logp_old;  c_t = min(d_t, clip_high) where A_i >= 0, max(d_t, -clip_low) where A_i < 0;
    g_i = exp( (1/T_i) sum_t c_t );  L = -(1/N) sum_i A_i g_i. A clipped token has no gradient but scales the rest.

    The bounds are logarithms: 0.4 keeps ratios in (0.67, 1.49); verl puts its ordinary clip ratio there. clip: "token",
    "sequence" (bounds the sum over the completion) or "none"; normalize: False leaves out 1/T_i. Both are the authors'
    ablations. eps: added to T_i, in means of advantages too (verl: 1e-8).
    Edge cases: one advantage per completion, the mean where there are more; an empty completion weighs nothing.
    Source: arXiv 2507.20673, the authors' code, verl, TRL. Confidence: code.
    """

    clip_low: float = 0.4
    clip_high: float = 0.4
    clip: str = "token"
    normalize: bool = True
    eps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a way to clip that does not exist."""
        check_choice("gmpo: clip", self.clip, ("token", "sequence", "none"))

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, 1] the same value for every token of a completion."""
        lengths = batch.mask.sum(-1, keepdim=True).clamp_min(1)
        advantage = batch.advantage[:, None] * lengths / (lengths + self.eps)
        gap = output.log_ratio
        if self.clip == "token":
            gap = self._clipped(gap, advantage)
        total = sequence_log_ratio(gap, batch.mask, normalize=False)
        if self.clip == "sequence":
            total = self._clipped(total, advantage)
        if self.normalize:
            total = total / (lengths + self.eps)
        return -advantage * total.exp()

    def _clipped(self, gap: Tensor, advantage: Tensor) -> Tensor:
        return torch.where(advantage < 0, gap.clamp_min(-self.clip_low), gap.clamp_max(self.clip_high))

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over completions."""
        return sequence_mean_weights(batch.mask)
