"""DRA-GRPO: rewards divided by how much a completion is like the others."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ngram_embedding
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch

LEAST = 1e-6  # of a denominator: cosines of foreign embeddings may be negative


@method(name="dra-grpo", paper="2505.09655", base="grpo(beta=0)", scope="group")
class DRAGRPO:
    """Each completion's reward is divided by its similarity to the group, so that different solutions earn more.

    R'_i = R_i / (sum_{j in g} e_i . e_j + eps), j = i included, with unit vectors e; then the base's advantage of R'.

    The paper's e is a sentence encoder's; here it is the counts of 1- to `n`-grams of tokens, hashed to `buckets`, or
    `batch.extras["embeddings"]` where a plugin annotates them before. As in the paper, redundancy raises a negative
    reward, and groups of equal rewards get advantages. The released code sums over a process's completions; this is
    per group.
    Edge cases: identical completions give R / G, so A = 0; a group of one keeps R.
    Source: arXiv 2505.09655, the authors' code. Confidence: code.
    """

    n: int = 2
    buckets: int = 512
    eps: float = 1e-6

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The reward per similarity, in place of the task's columns."""
        batch = yield
        vectors = self._vectors(batch).to(batch.rewards.dtype)
        similar = (vectors * batch.groups.sum(vectors)).sum(-1)
        return in_place(batch, "diverse", batch.reward / (similar + self.eps).clamp_min(LEAST))

    def _vectors(self, batch: Batch) -> Tensor:
        """[N, D] a unit vector for every completion, all equal for empty ones."""
        given = batch.extras.get("embeddings")
        if given is not None:
            return torch.nn.functional.normalize(given, dim=1)
        vectors = ngram_embedding(batch.completion_ids, batch.lengths, self.n, self.buckets)
        empty = (vectors == 0).all(1, keepdim=True)
        return torch.cat([vectors, empty.to(vectors.dtype)], 1)
