"""SAPO: a soft gate in place of the clip."""

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
    name="sapo",
    paper="2511.20347",
    base="grpo(beta=0)",
    search={"tau_pos": (0.5, 4.0, "log"), "tau_neg": (0.5, 4.0, "log")},
    scope="group",
)
class SAPO:
    """A sigmoid gate round the ratio 1 replaces the hard clip, and is steeper where the advantage is negative.

    l = -f(r) A, f(r) = (4 / tau) sigmoid(tau (r - 1)), tau = tau_pos if A > 0, else tau_neg;  df/dr is 1 at r = 1 and
    falls off on both sides;  L = mean over a completion's tokens, then over completions.

    level: "sequence" gates the length-normalised ratio of the completion (AReaL's option).
    Edge cases: no token ever loses its gradient; the value at r = 1 is -2 A / tau and compares with no PPO loss.
    Source: arXiv 2511.20347; verl, TRL, AReaL (which averages over tokens). Confidence: code.
    """

    tau_pos: float = 1.0
    tau_neg: float = 1.05
    level: str = "token"

    def __post_init__(self) -> None:
        """Refuse a level that does not exist."""
        check_choice("sapo: level", self.level, ("token", "sequence"))

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The gated surrogate."""
        assert batch.advantages is not None
        ratio = output.ratio if self.level == "token" else sequence_log_ratio(output.log_ratio, batch.mask).exp()
        positive = torch.full_like(batch.advantages, self.tau_pos)
        tau = torch.where(batch.advantages > 0, positive, torch.full_like(positive, self.tau_neg))
        return -4 / tau * torch.sigmoid(tau * (ratio - 1)) * batch.advantages

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over tokens, then over completions."""
        return sequence_mean_weights(batch.mask)
