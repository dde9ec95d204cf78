"""TIS: truncated weights for what another policy sampled."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import importance_weights, mean_one
from harness_papers.off_policy.behaviour import check_choice, sampler_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LEVELS = ("token", "sequence", "geometric")


@method(
    name="tis",
    neutral={"cap": 1.0, "floor": 1.0},
    search={"cap": (1.0, 10.0, "log")},
    scope=lambda m: "batch" if m.normalize else "group",
)
class TIS:
    """Token losses of any method are weighted by the learner's over the sampler's probability, truncated at a cap.

    w = sg[ min( pi_old / pi_sampler, cap ) ];  l <- w l, after the clip and before KL and entropy terms.

    level: "token"; "sequence" takes the product over the completion, "geometric" its mean in log space (AReaL).
    floor: a lower bound (OpenRLHF, NeMo; 0 is none). normalize: weights over their mean in the minibatch (verl's
    option). stale_only: fresh rows keep weight 1, only completions of older weights are corrected.
    Edge cases: tokens without a known sampler probability have weight 1; denominators count what they counted.
    Source: "Your efficient RL framework secretly brings you off-policy RL training" (2025); verl, slime, NeMo,
    OpenRLHF. Confidence: code.
    """

    cap: float = 2.0
    floor: float = 0.0
    level: str = "token"
    normalize: bool = False
    stale_only: bool = False

    def __post_init__(self) -> None:
        """Refuse a level that does not exist."""
        check_choice("tis: level", self.level, LEVELS)

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:  # noqa: ARG002
        """The losses below, weighted."""
        losses = yield
        gap = sampler_gap(batch, stale_only=self.stale_only)
        weights = importance_weights(gap, batch.mask, self.level).clamp(self.floor, self.cap)
        return (mean_one(weights, batch.mask) if self.normalize else weights).detach() * losses
