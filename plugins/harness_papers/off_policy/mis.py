"""MIS: drop what is outside the trust region instead of truncating its weight."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import importance_weights, mean_one
from harness_papers.off_policy.behaviour import check_choice, sampler_gap
from harness_papers.off_policy.rejection import Rejection, within

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LEVELS = ("token", "sequence", "geometric")


@method(
    name="mis",
    clips=True,
    neutral={"low": None, "high": None, "weigh": "none"},
    scope=lambda m: "batch" if m.normalize else "group",
)
class MIS(Rejection):
    """Tokens or completions whose ratio of learner to sampler leaves the bounds are dropped, others are weighted by it.

    k = pi_old / pi_sampler at the `level`: "token", "sequence" (the product) or "geometric" (mean in log space);
    w = sg[k] if low <= k <= high, else 0;  l <- w l, after the clip.

    Defaults are those of TRL's sequence mask: the product, at most 3, no lower bound; it drops long completions first.
    weigh: what kept tokens are weighted by: "level" the ratio that was tested, "token" their own ratio, "none".
    denominator: "all" leaves the divisors of the loss as they are (TRL, AReaL); "kept" takes what is dropped out of the
    mask, of KL and entropy terms too (verl); it needs the old log-probabilities before the loss, which costs a forward
    pass where the loop makes none. normalize: weights over their mean. stale_only: fresh rows are neither dropped nor
    weighted.
    Edge cases: everything dropped gives loss 0; an unknown sampler probability counts as ratio 1.
    Source: "When speed kills stability" (2025); TRL, NeMo, verl, AReaL. Confidence: code.
    """

    low: float | None = None
    high: float | None = 3.0
    level: str = "sequence"
    weigh: str = "level"
    denominator: str = "all"
    normalize: bool = False
    stale_only: bool = False

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        check_choice("level", self.level, LEVELS)
        check_choice("weigh", self.weigh, ("level", "token", "none"))
        check_choice("denominator", self.denominator, ("all", "kept"))

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:  # noqa: ARG002
        """The losses below, weighted or dropped."""
        losses = yield
        weights, kept = self._weights(batch), self.kept(batch)
        weights = torch.where(kept, weights, torch.zeros_like(weights))
        return (mean_one(weights, batch.mask) if self.normalize else weights).detach() * losses

    def kept(self, batch: Batch) -> Tensor:
        """What is within the bounds, [N, T] or [N, 1]."""
        return within(self._ratio(batch, self.level), self.low, self.high)

    def _weights(self, batch: Batch) -> Tensor:
        if self.weigh == "none":
            return torch.ones_like(batch.mask)
        return self._ratio(batch, self.level if self.weigh == "level" else "token")

    def _ratio(self, batch: Batch, level: str) -> Tensor:
        return importance_weights(sampler_gap(batch, stale_only=self.stale_only), batch.mask, level)
