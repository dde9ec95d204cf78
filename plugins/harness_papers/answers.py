"""Which completions of a batch say the same: the final answer as a number that travels with the row."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl
from harness.tasks.answers import find_answer

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["SeesAnswers", "answer_classes", "answer_entropy", "with_answers"]


class SeesAnswers:
    """For methods that compare answers: rollouts come with what they answer."""

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """The rollouts with what they answer."""
        rollouts = yield
        return with_answers(rollouts)


def with_answers(rollouts: Any) -> Any:
    """The rollouts with `extras["answers"]` int64 [M]: a hash of the number a text gives, else of the whole text.

    For a wrapper on `generate`; rollouts that have the extra already stay as they are.
    """
    if "answers" in rollouts.extras:
        return rollouts
    said = [_code(text) for text in rollouts.texts]
    answers = torch.tensor(said, dtype=torch.long, device=rollouts.mask.device)
    return rollouts.replace(extras={**rollouts.extras, "answers": answers})


def answer_classes(batch: Batch) -> Groups:
    """Groups of the rows of a group that give the same answer; without `answers`, that hold the same tokens."""
    answers = batch.extras.get("answers")
    if answers is None:
        shown = torch.where(batch.mask > 0, batch.completion_ids, -1)
        answers = Groups(shown).index if batch.tokens else batch.groups.index
    return Groups(torch.stack([batch.groups.index, answers.to(torch.long)], 1))


def answer_entropy(batch: Batch) -> Tensor:
    """[N] entropy in nats of the answers of the row's group, each as likely as it is frequent."""
    dtype = batch.rewards.dtype
    share = answer_classes(batch).count().to(dtype) / batch.groups.count().to(dtype)
    return -batch.groups.mean(share.log())


def _code(text: str) -> int:
    """A 63-bit number of the answer, the same in every process."""
    number = find_answer(text)
    answer = text.strip() if number is None else str(number)
    return int.from_bytes(hashlib.sha256(answer.encode()).digest()[:8], "little") >> 1
