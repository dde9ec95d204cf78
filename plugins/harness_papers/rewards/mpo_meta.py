"""MPO: a rubric that a meta-judge rewrites as the policy learns to exploit it."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="mpo-meta", paper="2504.20157", base="ppo", experimental=True)
class MPOMeta:
    """A judge scores by a rubric of points, and a meta-judge moves points away from items that wrong answers earn too.

    R_i = sum_k points_k c_ik / sum_k points_k, c the task's columns that have a weight, all items of `first` points at
    the start. Every `every` steps the meta-judge looks at `samples` completions of the step: an item whose mean is
    higher among right ones gains a point, one whose mean is no higher loses one, within 0 and `most`.

    In the paper judge and meta-judge are language models, and the rubric is text. Here both are rules, so that the
    mechanism can be measured: what evolves is the weight of the items, not their wording. every: 0 never refines.
    State: the points.
    Edge cases: samples all right or all wrong refine nothing, nor does a change that would leave no points. Groups do
    not matter: advantages are PPO's, against the critic.
    Source: arXiv 2504.20157, the authors' code (every, samples). Confidence: code (schedule); the judges are ours.
    """

    every: int = 10
    samples: int = 20
    first: int = 3
    most: int = 5

    @hookimpl
    def start(self) -> None:
        """The rubric is written when the columns are first seen."""
        self.points: dict[str, int] = {}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rubric's score, over what can be reached in the row."""
        batch = yield
        points = self._rubric(batch)
        worth = points * ~batch.rewards.isnan()
        total = worth.sum(1)
        score = (worth * batch.rewards.nan_to_num()).sum(1)
        return in_place(batch, "rubric", score / torch.where(total > 0, total, 1))

    @hookimpl
    def end_step(self, batch: Batch, state: Any) -> Mapping[str, float]:
        """Now and then, let the meta-judge look at some completions."""
        if self.every and (state.step + 1) % self.every == 0 and len(batch):
            rows = torch.randperm(len(batch), generator=state.generator)[: self.samples]
            self.refine(batch[rows.to(batch.device)])
        return {f"points_{name}": float(points) for name, points in self.points.items()}

    def refine(self, batch: Batch) -> None:
        """Move the points by what the samples show."""
        right = verdict(batch) > 0
        if right.all() or not right.any():
            return
        lead = batch.rewards[right].nanmean(0) - batch.rewards[~right].nanmean(0)
        found = dict(zip(batch.reward_names, lead.tolist(), strict=True))
        moved = dict(self.points)
        for name, points in self.points.items():
            if not math.isnan(found.get(name, math.nan)):
                moved[name] = min(max(points + (1 if found[name] > 0 else -1), 0), self.most)
        self.points = moved if any(moved.values()) else self.points

    def _rubric(self, batch: Batch) -> Tensor:
        """[K] the points of every column, 0 for those that are no item."""
        for name, weight in zip(batch.reward_names, batch.reward_weights.tolist(), strict=True):
            if weight:
                self.points.setdefault(name, self.first)
        return batch.rewards.new_tensor([self.points.get(name, 0) for name in batch.reward_names])
