"""ADORA: prompts whose right answers are no longer than their wrong ones count less."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(base="grpo(beta=0.001)", paper="2602.10019", scope="group", neutral={"shrink": 1.0})
class ADORA:
    """A group whose longest right answer is not longer than its average wrong one has its advantages shrunk.

    w = 1 if max length of right answers > mean length of wrong answers below the cut-off, else `shrink`; A_i <- w A_i.

    cutoff: tokens from which on a wrong answer does not count (3900 to 4094 in the paper's runs); None leaves out
    those that were cut off by the token limit. none_right, none_wrong: whether a group without right, or without
    (short) wrong answers is shrunk; the authors' two code bases disagree, True and False are those of the language
    model one, the other has both the other way round.
    Edge cases: shrink = 1 is the base; it rewards length directly.
    Source: the authors' code (ADORA). Confidence: code.
    """

    shrink: float = 0.1
    cutoff: float | None = None
    none_right: bool = True
    none_wrong: bool = False

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, times the group's weight."""
        advantages = yield
        groups, lengths = batch.groups, batch.lengths.to(advantages.dtype)
        short = ~batch.truncated if self.cutoff is None else lengths < self.cutoff
        wrong = ~batch.correct & short
        behind = groups.max(lengths, batch.correct) <= groups.mean(lengths, wrong)
        shrunk = torch.where(groups.any(wrong), behind, self.none_wrong)
        shrunk = torch.where(groups.any(batch.correct), shrunk, self.none_right)
        return torch.where(shrunk[:, None], self.shrink * advantages, advantages)
