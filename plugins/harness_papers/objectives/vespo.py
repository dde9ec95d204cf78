"""VESPO: a smooth weight of the whole completion's ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import per_row, token_mean_weights
from harness_papers.off_policy.behaviour import behaviour_log_ratio

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LOWEST, HIGHEST = -18.420680743952367, 20.0  # log(1e-8), and where exp is still a number


@method(name="vespo", paper="2602.10693", base="grpo(beta=0)", scope="group")
class VESPO:
    """The ratio of the whole completion, not normalised by length, weighs it by a gamma density that peaks near 1.

    log w_i = sum_t log(pi / pi_behaviour), in [log 1e-8, 20];  phi = exp(lambda + k log w - lambda w), so phi(1) = 1;
    (k, lambda) is (k_pos, lambda_pos) where A >= 0, else (k_neg, lambda_neg);  l = -sg[phi] A logp;  L = mean over
    all tokens.

    against: as in the off-policy corrections: stale rows against the sampler, fresh ones against the start of the step;
    "sampler" always (TRL and the authors with rollout correction), "old" never.
    Edge cases: completions far off-policy fade out on both sides; the value holds logp and compares with no PPO loss.
    Source: arXiv 2602.10693, the authors' code and TRL. Confidence: code.
    """

    k_pos: float = 2.0
    lambda_pos: float = 3.0
    k_neg: float = 3.0
    lambda_neg: float = 2.0
    against: str = "auto"

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted score-function loss."""
        assert batch.advantages is not None
        log_ratio = behaviour_log_ratio(batch, output, self.against).detach()
        log_weight = per_row(log_ratio, batch.mask, "sum").clamp(LOWEST, HIGHEST)
        positive = self._gamma(log_weight, self.k_pos, self.lambda_pos)
        phi = torch.where(batch.advantages >= 0, positive, self._gamma(log_weight, self.k_neg, self.lambda_neg))
        return -phi * batch.advantages * output.logp

    @staticmethod
    def _gamma(log_weight: Tensor, k: float, decay: float) -> Tensor:
        return (decay + k * log_weight - decay * log_weight.exp()).exp()

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
