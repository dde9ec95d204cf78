"""Reinforce-Rej: plain rewards, without the groups that agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch


@method(name="reinforce-rej", paper="2504.11343", base="grpo(beta=0.001)", scope="group")
class ReinforceRej:
    """The signed outcome is the advantage, without baseline or scale; groups that all agree are rejected.

    A_i = 1 for a right and -1 for a wrong answer, 0 in groups without both;  clipped loss, k3 penalty, mean over all
    tokens, those of rejected groups included.

    signed: the outcome by the task's verdict, as the paper's rewards are; False takes the reward as it is, and with
    rewards 0 and 1 wrong answers then get nothing.
    Edge cases: groups of one are rejected; unlike GRPO a single success does not count more than many.
    Source: arXiv 2504.11343 and the authors' code. Confidence: code.
    """

    signed: bool = True

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The outcome where a group has both."""
        outcome = 2 * batch.correct.to(batch.rewards.dtype) - 1 if self.signed else batch.reward
        mixed = batch.groups.max(outcome) > batch.groups.min(outcome)
        return torch.where(mixed, outcome, torch.zeros_like(outcome))

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
