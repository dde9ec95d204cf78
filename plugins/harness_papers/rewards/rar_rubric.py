"""RaR: a rubric's satisfied share is the reward."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import active, in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="rar", paper="2507.17746", base="grpo(beta=0)", scope="group", experimental=True)
class RaR:
    """A checklist becomes a reward: the weighted share of its criteria that a completion satisfies.

    R_i = sum_j w_j c_ij / sum_j w_j over the criteria that apply, weights by category: essential 1, important
    0.7, optional 0.3, pitfall 0.9 (satisfied where the mistake is avoided); in place of the task's columns.

    The paper's criteria are written for every prompt, and a judge model decides them; here they are the task's columns
    with a weight (its size takes no part), in the categories given by name, optional if in none. met_at: a criterion is
    satisfied where its column reaches this; 0 takes the value itself. The paper's implicit form, one rating by a judge
    that sees the list, needs a judge.
    Edge cases: no criterion applies: 0; a single criterion is its verdict.
    Source: arXiv 2507.17746 by way of notes with its equations. Confidence: secondary; the criteria are ours.
    """

    essential: tuple[str, ...] = ("correct", "all_passed")
    important: tuple[str, ...] = ("format", "steps", "pass_fraction")
    pitfall: tuple[str, ...] = ("runs",)
    weights: tuple[float, float, float, float] = (1.0, 0.7, 0.3, 0.9)
    met_at: float = 0.5

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The satisfied share."""
        batch = yield
        applies = ~batch.rewards.isnan() & active(batch)
        met = batch.rewards >= self.met_at if self.met_at else batch.rewards.nan_to_num()
        weights = batch.rewards.new_tensor([self.weight(name) for name in batch.reward_names]) * applies
        total = weights.sum(1)
        share: Tensor = (weights * met).sum(1) / torch.where(total > 0, total, 1)
        return in_place(batch, "rubric", share)

    def weight(self, name: str) -> float:
        """Of a criterion, by its category."""
        essential, important, optional, pitfall = self.weights
        kinds = ((self.essential, essential), (self.important, important), (self.pitfall, pitfall))
        return next((weight for names, weight in kinds if name in names), optional)
