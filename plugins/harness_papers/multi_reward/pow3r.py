"""POW3R: inside a rubric's category, weight moves to the criteria that separate the rollouts."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="pow3r", paper="2605.20164", base="grpo(beta=0)", scope="group", experimental=True)
class POW3R:
    """Criteria on which a prompt's completions disagree get more of their category's weight; the totals stay.

    v_j = std_g(c_j) over n;  u_j = w_j (floor + (1 - floor) v_j / max_j v_j), scaled so that every category keeps its
    sum of w;  R_i = sum_j u_j c_ij / sum_j |w_j|, in place of the task's columns.

    The criteria are the task's reward columns with their weights. apart: columns that are a category of their own, the
    verdicts; all others are one category. floor: ours. The form of the contrast is reconstructed; that weights are
    w_j times something driven by it, and that totals per category stay, is the paper's.
    Edge cases: equal contrast in a category, or none anywhere, is the static reward; columns that do not apply to a
    row have no weight there.
    Source: arXiv 2605.20164. Confidence: abstract (reconstructed).
    """

    floor: float = 0.2
    apart: tuple[str, ...] = ("correct", "all_passed")

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rubric's reward under this step's weights."""
        batch = yield
        there = ~batch.rewards.isnan()
        static = batch.reward_weights * there
        contrast = batch.groups.std(batch.rewards, correction=0) * (static != 0)
        largest = contrast.amax(1, keepdim=True)
        share = torch.where(largest > 0, contrast / torch.where(largest > 0, largest, 1), 1)
        moved = self._keep_totals(static * (self.floor + (1 - self.floor) * share), static, batch.reward_names)
        total = static.abs().sum(1)
        reward = (moved * batch.rewards.nan_to_num()).sum(1) / torch.where(total > 0, total, 1)
        return in_place(batch, "rubric", reward)

    def _keep_totals(self, moved: Tensor, static: Tensor, names: tuple[str, ...]) -> Tensor:
        """[N, K] the moved weights, scaled so that every category has the sum that it had."""
        together = torch.tensor([name not in self.apart for name in names], device=static.device)
        before, after = (static * together).sum(1, keepdim=True), (moved * together).sum(1, keepdim=True)
        factor = torch.where(after != 0, before / torch.where(after != 0, after, 1), 1)
        return torch.where(together, moved * factor, static)
