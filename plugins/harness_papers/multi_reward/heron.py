"""HERON: completions are compared by the most important reward that tells them apart."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness_papers.pairs import Pairs
from harness_papers.reward_columns import in_order, in_place

if TYPE_CHECKING:
    from torch import Tensor

    from harness import Batch


@method(name="heron", paper="2309.02632", base="grpo(beta=0)", scope="group", experimental=True)
class HERON:
    """A completion's reward is the share of its group that it beats on the most important column where they differ.

    cmp(i, j): the first column k in order with |r_ik - r_jk| > margin_k decides, 1 or -1, else 0;
    R_i = mean_{j != i} (1 + cmp(i, j)) / 2, in place of the task's columns.

    The paper trains a reward model on these comparisons and then a policy on it; the win rate in the group is ours, and
    needs no model. order: the columns with a weight, from the most important on; those not named follow. margins: one a
    column in that order, 0 where there is none. A negative weight turns its column round.
    Edge cases: ties and groups of one have R = 1/2; a column that does not apply to one of two rows does not decide.
    Source: arXiv 2309.02632, the authors' code (the comparison). Confidence: code; the in-group form is ours.
    """

    order: tuple[str, ...] = ("correct", "all_passed", "pass_fraction", "runs", "format", "steps")
    margins: tuple[float, ...] = ()

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The win rate."""
        batch = yield
        pairs = Pairs.of(batch.groups)
        signed = batch.rewards * batch.reward_weights.sign()
        decided = pairs.table(torch.zeros_like(batch.reward))
        decided = decided[:, :, None] - decided[:, None, :]
        for place, name in reversed(list(enumerate(in_order(batch, self.order)))):
            margin = self.margins[place] if place < len(self.margins) else 0.0
            decided = self._decide(pairs.table(signed[:, batch.reward_names.index(name)]), margin, decided)
        others = pairs.others().to(decided.dtype)
        wins = ((1 + decided) / 2 * others).sum(2) / others.sum(2).clamp_min(1)
        return in_place(batch, "win_rate", torch.where(batch.groups.count() > 1, pairs.rows(wins), 0.5))

    @staticmethod
    def _decide(x: Tensor, margin: float, rest: Tensor) -> Tensor:
        """[groups, n, n] 1 or -1 where x [groups, n] differs by more than the margin, else what the rest says."""
        gap = x[:, :, None] - x[:, None, :]
        return torch.where(gap > margin, 1, torch.where(gap < -margin, -1, rest)).to(rest.dtype)
