"""RARE: a criterion that a whole group satisfies is replaced by a harder one before the update."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import relative_brevity
from harness_papers.reward_columns import in_order, in_place

if TYPE_CHECKING:
    from harness import Batch

FULL = 1 - 1e-6


@method(name="rare", base="grpo(beta=0)", scope="group", experimental=True)
class RARE:
    """Where every completion of a group has full marks on a criterion, a harder one takes its place in this very step.

    Criterion j is saturated in a group iff all its verdicts are there and 1;  c'_j: the first column of `harder` that
    is not saturated there itself, else how short the completion is, 1 for the shortest of the group to 0;
    R_i = sum_j w_j c'_ij / sum_j w_j, in place of the task's columns; at most `replace` criteria a group, in order.

    In the paper a model that sees the group writes the new criterion about flaws that are left, and a judge scores it;
    here it comes from this list. The criteria are the columns with a weight, w their weight. The final sum is assumed.
    Edge cases: a column that does not apply, or whose verdict is missing in a row, never counts as saturated; without
    saturation R is the static rubric; groups of one are never told apart, so nothing is replaced there.
    Source: the authors' documentation (Eureka-Maggie/RARE). Confidence: code (documentation); the criteria are ours.
    """

    replace: int = 3
    harder: tuple[str, ...] = ("steps", "quality", "brevity")

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rubric with what was replaced."""
        batch = yield
        marks, weights = batch.rewards, batch.reward_weights.abs()
        saturated = self._saturated(batch)
        chosen = [batch.reward_names.index(name) for name in in_order(batch, ())]
        turned = torch.zeros_like(saturated)
        turned[:, chosen] = saturated[:, chosen] & (saturated[:, chosen].cumsum(1) <= self.replace)
        marks = torch.where(turned, self._harder(batch, saturated)[:, None], marks)
        worth = weights * ~marks.isnan()
        total = worth.sum(1)
        return in_place(batch, "rubric", (worth * marks.nan_to_num()).sum(1) / torch.where(total > 0, total, 1))

    @staticmethod
    def _saturated(batch: Batch) -> Tensor:
        """[N, K] bool: full marks for everyone in the row's group, of two at least."""
        full = batch.groups.all(batch.rewards.nan_to_num() >= FULL) & batch.groups.all(~batch.rewards.isnan())
        return full & (batch.groups.count() > 1)[:, None]

    def _harder(self, batch: Batch, saturated: Tensor) -> Tensor:
        """[N] the marks of the criterion that comes in: of the least preferred to the most, each where it separates."""
        marks = 0.5 + relative_brevity(batch.groups, batch.lengths.to(batch.rewards.dtype))
        for name in reversed([name for name in self.harder if name in batch.reward_names]):
            column = batch.reward_names.index(name)
            usable = batch.groups.all(~batch.rewards[:, column].isnan()) & ~saturated[:, column]
            marks = torch.where(usable, batch.rewards[:, column], marks)
        return marks
