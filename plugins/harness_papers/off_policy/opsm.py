"""OPSM: negative completions that have drifted too far are ignored."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import per_row
from harness_papers.off_policy.behaviour import behaviour_log_ratio, check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

FAR = 1e-30


@method(
    name="opsm",
    paper="2512.02556",
    clips=True,
    neutral={"delta": 1e9},
    scope=lambda m: "group" if m.denominator == "all" else "batch",
)
class OPSM:
    """A completion with a negative advantage leaves the loss once the policy has moved too far from what wrote it.

    K_i = (1/T_i) sum_t (log pi_sampler - sg[log pi]);  l <- 0 where A_i < 0 and K_i > delta.

    delta: slime's; TRL has it off by default. against: "sampler" (TRL; the report) or "old", the learner at the start
    of the step (slime, Trinity). denominator: "all" drops the completion from the numerator only (TRL, Trinity); "kept"
    divides by the weight of what is left (ms-swift): exact for averages over tokens and over completions.
    Edge cases: advantages of 0 and more are always kept; everything dropped gives loss 0.
    Source: DeepSeek-V3.2 (arXiv 2512.02556); TRL, slime, Trinity-RFT, ms-swift. Confidence: code.
    """

    delta: float = 1e-4
    against: str = "sampler"
    denominator: str = "all"

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        check_choice("opsm: against", self.against, ("auto", "old", "sampler"))
        check_choice("opsm: denominator", self.denominator, ("all", "kept"))

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, 0 in what is dropped."""
        losses = yield
        drift = -per_row(behaviour_log_ratio(batch, output, self.against).detach(), batch.mask, "mean")
        kept = ~((batch.advantage[:, None] < 0) & (drift > self.delta))
        losses = torch.where(kept, losses, torch.zeros_like(losses))
        if self.denominator == "all" or batch.weights is None:
            return losses
        return losses * batch.weights.sum() / (batch.weights * kept).sum().clamp_min(FAR)
