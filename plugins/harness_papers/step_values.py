"""Steps inside completions, and what the policy gives for the right answer after each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Rational
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["answer_values", "first_of_step", "step_ends", "step_numbers"]


class Question(NamedTuple):
    """The answer's tokens behind a context that shows some of a row's steps."""

    row: int
    shown: int
    context: list[int]
    answer: list[int]


def step_ends(policy: Any, boundary: str) -> Tensor:
    """[V] bool: tokens with one of these characters, which end a step."""
    texts = policy.token_texts(range(policy.model.config.vocab_size))
    return torch.tensor([any(mark in text for mark in boundary) for text in texts], device=policy.device)


def step_numbers(batch: Batch, ends: Tensor) -> Tensor:
    """[N, T] the number of a token's step, from 0; every token after the last end is one more step."""
    inside = torch.arange(batch.tokens, device=batch.device) < batch.lengths[:, None]
    closes = inside & ends.to(batch.device)[batch.completion_ids]
    return closes.cumsum(1) - closes.long()


def first_of_step(batch: Batch, step: Tensor) -> Tensor:
    """[N, T] bool: tokens that begin a step."""
    inside = torch.arange(batch.tokens, device=batch.device) < batch.lengths[:, None]
    fresh = torch.ones_like(inside)
    fresh[:, 1:] = step[:, 1:] != step[:, :-1]
    return inside & fresh


def answer_values(
    batch: Batch, policy: Any, pool: Any, step: Tensor, cue: str, *, mean: bool, where: Tensor | None = None
) -> Mapping[str, Tensor]:
    """What the policy gives, after `cue`, for the reference answer before and after every token's step, both [N, T].

    Log-probabilities of the answer's tokens, their mean or their sum; NaN where the task has no answer that is a text
    or a number, and outside `where` [N]. The passes are charged: one a step and row, and one before the first.
    """
    rows = torch.arange(len(batch), device=batch.device) if where is None else where.nonzero()[:, 0]
    asked = _questions(batch[rows], policy, pool, step[rows], cue) if len(rows) else []
    found = torch.full((len(batch), batch.tokens + 1), torch.nan, dtype=batch.rewards.dtype, device=batch.device)
    if asked:
        places = rows[[question.row for question in asked]]
        found[places, [question.shown for question in asked]] = found.new_tensor(_answers(asked, policy, mean=mean))
    if not batch.tokens:
        return {"value_before": found[:, 1:], "value_after": found[:, 1:]}
    return {"value_before": found.gather(1, step), "value_after": found.gather(1, step + 1)}


def _questions(batch: Batch, policy: Any, pool: Any, step: Tensor, cue: str) -> list[Question]:
    """One before the first step and one after each, for every row whose prompt has an answer."""
    cue_ids, asked = policy.encode(cue), []
    for row in range(len(batch)):
        answer = _text(pool.problem(batch.prompts[row].key).answer)
        if answer is None:
            continue
        prompt = batch.prompt_ids[row][batch.prompt_mask[row] > 0].tolist()
        length = int(batch.lengths[row])
        written, numbers = batch.completion_ids[row, :length].tolist(), step[row, :length].tolist()
        cuts = [0, *(i for i in range(1, length) if numbers[i] != numbers[i - 1]), *([length] if length else [])]
        answer_ids = policy.encode(answer)
        room = None if policy.context is None else max(policy.context - len(answer_ids), 1)
        for shown, cut in enumerate(cuts):
            context = [*prompt, *written[:cut], *cue_ids]
            asked.append(Question(row, shown, context if room is None else context[-room:], answer_ids))
    return asked


def _answers(questions: Sequence[Question], policy: Any, *, mean: bool) -> list[float]:
    """The log-probability of each answer, a micro-batch a pass."""
    found: list[float] = []
    for start in range(0, len(questions), policy.micro_batch):
        part = questions[start : start + policy.micro_batch]
        logp = policy.score([question.context for question in part], [question.answer for question in part])
        found += logp.sum(1).tolist()
    return [total / max(len(q.answer), 1) if mean else total for total, q in zip(found, questions, strict=True)]


def _text(answer: Any) -> str | None:
    """The answer as one would write it, if it is a text or a number."""
    if isinstance(answer, str | Rational):
        return str(answer)
    return None
