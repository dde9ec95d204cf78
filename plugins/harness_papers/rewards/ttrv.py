"""TTRV: an answer is worth how often the model gives it; no label is looked at."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.tasks.answers import find_answer
from harness_papers.answers import answer_classes, with_answers
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="ttrv", paper="2510.06783", base="grpo(beta=0)", scope="group")
class TTRV:
    """Without labels: a completion's reward is the share of the votes for its answer, less the votes' entropy.

    R_i = f_i - weight H / ln(distinct), f the share of the group's votes for i's answer, H their entropy in nats (the
    second term 0 for one answer), in place of the task's columns; the first `trained` of a group's G votes train.

    trained: a half, 16 of 32 in the code. normalize: False subtracts weight H, the paper's form. A completion that
    gives no number, or is cut off, casts no vote and has f = 0 (in the code garbage of one kind can win the vote).
    The second term is the same for a whole group: whatever subtracts the group's mean cancels it; it acts on estimators
    that do not.
    Edge cases: all votes alike give 1, all different 1/V; both advantages are 0.
    Source: arXiv 2510.06783, the authors' code (in a copy). Confidence: code.
    """

    weight: float = 0.75
    trained: float = 0.5
    normalize: bool = True

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """A number for what each completion answers, and whether it answers."""
        rollouts = with_answers((yield))
        votes = torch.tensor([find_answer(text) is not None for text in rollouts.texts], device=rollouts.mask.device)
        return rollouts.replace(extras={**rollouts.extras, "votes": votes & ~rollouts.truncated})

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The share of the votes."""
        batch = yield
        votes = batch.extras.get("votes", batch.lengths > 0).to(batch.rewards.dtype)
        share = answer_classes(batch).sum(votes) / batch.groups.sum(votes).clamp_min(1)
        entropy = -batch.groups.mean(share.clamp_min(torch.finfo(share.dtype).tiny).log(), votes > 0)
        if self.normalize:
            distinct = batch.groups.sum(torch.where(votes > 0, 1 / answer_classes(batch).sum(votes).clamp_min(1), 0))
            span = distinct.round().clamp_min(2).log()
            entropy = entropy / span
        return in_place(batch, "frequency", votes * share - self.weight * entropy)

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """[N] bool: the first votes of every group."""
        order = batch.groups.rank(batch.rollout.to(batch.rewards.dtype))
        return order < (self.trained * batch.groups.count()).ceil()
