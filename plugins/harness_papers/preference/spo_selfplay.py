"""SPO: a completion is rewarded by how many of its siblings it beats."""

from __future__ import annotations

from collections.abc import Generator

import torch
from torch import Tensor

from harness import Batch, Groups, hookimpl, method
from harness.mathematics import mean_rank, only_scored
from harness_papers.reward_columns import in_place


def win_rates(groups: Groups, score: Tensor) -> Tensor:
    """[M] the share of the others of the group that a member beats, ties 1/2; 1/2 without others, NaN stays NaN."""
    others = groups.count(~score.isnan()) - 1
    rate = mean_rank(groups, score) / others.clamp_min(1)
    return torch.where((others < 1) & ~score.isnan(), torch.full_like(rate, 0.5), rate)


@method(name="spo-selfplay", paper="2401.04056", base="grpo(beta=0)", scope="group")
class SPOSelfPlay:
    """A completion's reward is the share of its siblings that it beats: self-play against the policy's own samples.

    R_i = (1 / (G - 1)) sum_{j != i} P(o_i beats o_j), ties 1/2, in place of the task's reward, which decides who beats
    whom; the paper asks for preferences, which may be intransitive.

    Comparisons are within the batch's group; the paper's queue of earlier completions is left out.
    Edge cases: a group of one and equal rewards get 1/2, so no advantage; no monotone map of rewards changes anything.
    Source: arXiv 2401.04056, the abstract and knowledge of it. Confidence: secondary.
    """

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The win rate, in place of the task's columns."""
        batch = yield
        reward = only_scored(batch.reward, batch.rewards)
        return in_place(batch, "win_rate", win_rates(batch.groups, reward))
