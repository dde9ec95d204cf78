"""OPO: the baseline that minimises the variance of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import Single, check_single, with_singles

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2505.23585", base="reinforce", scope="group")
class OPO:
    """The baseline is the mean reward of the group weighted by length, as long answers make large gradients.

    A_i = R_i - sum_j T_j R_j / sum_j T_j: the constant that minimises the variance of the gradient if the squared norm
    of a completion's score grows with its length. Exactly on-policy: no ratio, no clip, no KL (the base's loss).

    single: "raw" keeps the reward of a group of one (verl).
    Edge cases: equal rewards give 0; equal lengths give Dr. GRPO's advantage; sum_i T_i A_i = 0, not sum_i A_i; a group
    of empty completions has the plain mean as baseline.
    Source: arXiv 2505.23585; verl. Confidence: code.
    """

    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse a value that does not exist."""
        check_single(self.single, "opo")

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The distance from the length-weighted mean."""
        groups, lengths = batch.groups, batch.mask.sum(-1).to(batch.rewards.dtype)
        apart, total = groups.center(batch.reward), groups.sum(lengths)
        shift = torch.where(total > 0, groups.sum(lengths * apart) / total.clamp_min(1), torch.zeros_like(total))
        return with_singles(apart - shift, batch.reward, groups, self.single)
