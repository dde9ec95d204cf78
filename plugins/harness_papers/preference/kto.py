"""KTO: every completion for itself, above or below a reference point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="kto", paper="2402.01306", needs={"reference"})
class KTO:
    """Good completions are raised above, bad ones lowered below the policy's mean log-ratio, with sinking interest.

    D_i = sum_t (logp - logp_ref), z = sg[max(mean over the minibatch of D, 0)], the KL to the reference;
    L = mean over completions of desired (1 - sigmoid(beta (D_i - z))) for good ones and
    undesired (1 - sigmoid(beta (z - D_i))) for bad ones.

    balance: the weight of the bad ones is multiplied by the number of good ones over theirs in the minibatch, where
    there are both: the paper wants desired n_good / (undesired n_bad) in 1 to 4/3. good: "correct" is the task's
    verdict; "above" a reward above the group's mean, below it is bad, and at it neither. The paper has single labelled
    answers and estimates z from mismatched ones, as its answers are not the policy's; they are here.
    Edge cases: needs no pair, and groups of one teach under "correct".
    Source: arXiv 2402.01306, TRL. Confidence: code.
    """

    beta: float = 0.1
    desired: float = 1.0
    undesired: float = 1.0
    balance: bool = True
    good: Literal["correct", "above"] = "correct"

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the value, by prospect theory."""
        who, moved = counted(batch), completion_log_ratio(batch, output, "reference")
        sign = torch.where(batch.correct, 1.0, -1.0).to(moved.dtype)
        if self.good == "above":
            sign = batch.groups.center(batch.reward, who).sign()
        who = who & (sign != 0)
        level = (moved.detach() * who).sum() / who.sum().clamp_min(1)
        apart = self.beta * sign * (moved - level.clamp_min(0))
        number = [(who & side).sum().to(moved.dtype) for side in (sign > 0, sign < 0)]
        share = number[0] / number[1] if self.balance and number[0] and number[1] else torch.ones_like(level)
        weight = torch.where(sign > 0, self.desired, self.undesired * share) * who
        return (weight * (1 - apart.sigmoid())).sum() / who.sum().clamp_min(1)
