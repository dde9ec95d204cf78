"""Polychromic objective: sets are scored by success times diversity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import choose
from harness_papers.answers import SeesAnswers, answer_classes

if TYPE_CHECKING:
    from harness import Batch

DECIMALS = 12  # beyond them equal scores differ by the order in which they were summed


@method(name="polychromic", paper="2509.25424", base="grpo(beta=0)", scope="group", experimental=True)
class Polychromic(SeesAnswers):
    """Sets of completions are scored by mean reward times share of distinct answers, and share the advantage.

    f(S) = mean_S(R) x (distinct answers in S) / n over the n-subsets S of the group;
    A_i = mean of f over the subsets that contain i, minus its mean over all; both in closed form.

    size: n, ours (not found); at most one less than the group, which as a set of its own would have nothing to be
    compared with. The paper samples sets from intermediate states ("vines") and keeps a critic elsewhere; taking all
    subsets of a prompt's completions is ours. Two completions are the same where they answer the same number, or the
    same text without one.
    Edge cases: all wrong gives 0, all right and alike too; n = 1 is the group's mean as baseline; one alone gives 0.
    Source: arXiv 2509.25424 by way of notes; the form for one turn is ours. Confidence: secondary (reconstructed).
    """

    size: int = 2

    def __post_init__(self) -> None:
        """Refuse sets without members."""
        if self.size < 1:
            msg = f"polychromic(size={self.size}): a set has at least one completion"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The mean score of the sets that a completion is in, centred."""
        return batch.groups.center(self._score(batch))

    def _score(self, batch: Batch) -> Tensor:
        """[N] mean over the subsets that contain i of their score."""
        groups, alike, reward = batch.groups, answer_classes(batch), batch.reward.double()
        total, same = groups.count().double(), alike.count().double()
        drawn = torch.minimum(torch.full_like(total, self.size), (total - 1).clamp_min(1))
        # How likely it is that no completion of i's class is drawn, when one or two others already are.
        one, two = (
            choose(total - known - same, drawn - known) / choose(total - known, drawn - known).clamp_min(1)
            for known in (1, 2)
        )
        alone = groups.sum((1 - one) / same) + one
        beside = (groups.sum(reward) - reward) * (groups.sum((1 - two) / same) + two)
        beside = beside + groups.sum(reward * two) - alike.sum(reward * two)
        chance = (drawn - 1) / (total - 1).clamp_min(1)
        score = (reward * alone + chance * beside) / drawn.square()
        return score.round(decimals=DECIMALS).to(batch.rewards.dtype)
