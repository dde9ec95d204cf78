"""PS-GRPO: completions are rewarded for agreeing with those of other wordings of the question."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.mathematics import ngram_embedding
from harness_papers.paraphrases import split_request, with_wordings, wording
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="ps-grpo", paper="2510.04392", base="grpo(beta=0)", experimental=True)
class PSGRPO:
    """A question is asked in several wordings; a completion earns by its likeness to the other wordings' completions.

    R_i = alpha mean_{m of another wording} sim(o_i, o_m) + gamma c_i, in place of the task's columns; groups are the
    completions of one wording.

    The group's completions are shared out over up to `wordings` wordings (6 of 4 completions each in the paper): terms
    of a sum or examples of a function change places, other prompts get a lead-in. sim is the cosine of counts of 1- and
    2-grams of tokens; the paper has BLEU of as low an order, and may sample whom to compare with. c, the verdict,
    stands for the token F1 with the reference; alpha and gamma are ours.
    Edge cases: one wording: the first term is 0; an empty completion is like nothing; with gamma = 0 a constant answer
    is best.
    Source: arXiv 2510.04392, the abstract and notes. Confidence: secondary.
    """

    wordings: int = 2
    alpha: float = 1.0
    gamma: float = 1.0

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """Every request in several wordings."""
        requests = yield
        return [part for request in requests for part in split_request(request, state, self.wordings)]

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """Which wording a completion answers."""
        return with_wordings((yield))

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """[N, 2] prompt and wording."""
        return torch.stack([batch.prompt, wording(batch)], 1)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Likeness and verdict."""
        batch = yield
        return in_place(batch, "consistent", self.alpha * self.likeness(batch) + self.gamma * verdict(batch))

    @staticmethod
    def likeness(batch: Batch) -> Tensor:
        """[N] the mean cosine with the completions of other wordings; 0 without any."""
        vectors = ngram_embedding(batch.completion_ids, batch.lengths).to(batch.rewards.dtype)
        prompts, mine = Groups(batch.prompt), Groups(torch.stack([batch.prompt, wording(batch)], 1))
        others = prompts.count() - mine.count()
        total = (vectors * (prompts.sum(vectors) - mine.sum(vectors))).sum(1)
        return torch.where(others > 0, total / others.clamp_min(1), 0)
