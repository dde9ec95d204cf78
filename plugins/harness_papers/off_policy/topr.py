"""TOPR: positives are imitated, negatives are tapered off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import importance_weights, sequence_sum_weights
from harness_papers.off_policy.behaviour import behaviour_log_ratio, check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="topr", paper="2503.14286", scope="group")
class TOPR:
    """Good completions are imitated with weight 1; bad ones are weighted by a truncated ratio in [0, 1].

    l_i = -sg[alpha_i] A_i sum_t logp, A_i = R_i - baseline, alpha_i = 1 if A_i > 0, else min(pi / pi_behaviour, cap) of
    the whole completion;  L = mean over completions.

    baseline: 0.5 makes rewards of 0 and 1 the paper's -1 and 1, up to a factor; None is the mean of the
    group. level: "token" takes ratios of tokens (ROLL, Trinity). split: "reward" tells good from bad by R > 0 whatever
    the baseline (ROLL). against: as in the off-policy corrections, stale rows against the sampler by default.
    Edge cases: an advantage of 0 has no loss; without a baseline, rewards of 0 and 1 learn from positives only,
    and equal rewards and groups of one keep theirs.
    Source: arXiv 2503.14286; ROLL and Trinity-RFT differ as said. Confidence: code (variants), secondary (paper).
    """

    baseline: float | None = 0.5
    cap: float = 1.0
    level: str = "sequence"
    split: str = "advantage"
    against: str = "auto"

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        check_choice("topr: level", self.level, ("token", "sequence"))
        check_choice("topr: split", self.split, ("advantage", "reward"))

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The reward less the baseline."""
        return batch.groups.center(batch.reward) if self.baseline is None else batch.reward - self.baseline

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """REINFORCE, with a taper on what is bad."""
        assert batch.advantages is not None
        ratio = importance_weights(behaviour_log_ratio(batch, output, self.against), batch.mask, self.level)
        good = batch.reward[:, None] > 0 if self.split == "reward" else batch.advantages > 0
        taper = torch.where(good, torch.ones_like(ratio), ratio.clamp_max(self.cap)).detach()
        return -taper * batch.advantages * output.logp

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
