"""Parrot: only completions that no other one of the group dominates are trained on."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.pairs import Pairs
from harness_papers.reward_columns import active

if TYPE_CHECKING:
    from harness import Batch


def undominated(batch: Batch) -> Tensor:
    """[N] bool: no completion of the group is at least as good in every column that counts and better in one."""
    pairs = Pairs.of(batch.groups)
    table = pairs.table((batch.rewards * batch.reward_weights.sign())[:, active(batch)].nan_to_num())
    mine, theirs = table[:, :, None], table[:, None, :]
    beaten = (theirs >= mine).all(-1) & (theirs > mine).any(-1) & pairs.others()
    return ~pairs.rows(beaten.any(2))


@method(name="parrot", paper="2401.05675", base="grpo(beta=0)", scope="group", experimental=True)
class Parrot:
    """Only the Pareto front of a group's completions gets gradient; dominated ones are shown to nobody.

    i dominates j iff r_ik >= r_jk for all k and > for one;  A_i <- A_i 1[nobody dominates i] G / |front|, on top of any
    advantage.

    The paper is of images: its loss is the raw sum of the rewards on the front of the whole batch, over |front|, and a
    prompt expander is trained along. Here the front is that of the prompt's group, since rewards of different prompts
    are not comparable, and the base has its baseline. The columns are those with a weight, of which the sign counts.
    Edge cases: of equal completions nobody is dominated; one column keeps the best only; advantages no longer sum to 0;
    a column that does not apply to a row counts as 0 there.
    Source: arXiv 2401.05675, the abstract. Confidence: abstract (reconstructed).
    """

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The base's, on the front."""
        advantages = yield
        front = undominated(batch)
        scale = batch.groups.count() / batch.groups.count(front).clamp_min(1)
        return torch.where(front[:, None], advantages.reshape(len(batch), -1) * scale[:, None], 0).reshape(
            advantages.shape
        )
