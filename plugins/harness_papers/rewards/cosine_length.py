"""Cosine length reward: short if right, long if wrong."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness.mathematics import cosine_between
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="cosine-length", paper="2502.03373", base="grpo(beta=0)", scope="group")
class CosineLength:
    """Right answers earn more when short, wrong ones lose less when long, along half a cosine.

    f(T; a, b) = b + (a - b)(1 + cos(pi T / L)) / 2;  R_i = f(T; right_short, right_long) if correct, else
    f(T; wrong_short, wrong_long), and `exceeded` at the limit L; in place of the task's columns.

    tolerance: completions within that many tokens of L count as exceeding it (16 in the authors' code, for limits of
    16384). limit: L in tokens, by default the suite's. Other users have 1, 0.5, -1, -0.5 and no `exceeded` (None). The
    authors' repetition penalty for wrong answers is `repetition-penalty(wrong_only=True)` on top.
    Edge cases: lengths beyond L count as L.
    Source: arXiv 2502.03373, the authors' code; open-r1. Confidence: code.
    """

    right_short: float = 2.0
    right_long: float = 1.0
    wrong_short: float = -10.0
    wrong_long: float = 0.0
    exceeded: float | None = -10.0
    tolerance: int = 0
    limit: int | None = None

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The cosine of each row's verdict and length."""
        batch = yield
        limit = batch.max_tokens if self.limit is None else self.limit
        lengths = batch.lengths.to(batch.rewards.dtype)
        share = lengths / max(limit, 1)
        right = cosine_between(share, self.right_short, self.right_long)
        reward = torch.where(batch.correct, right, cosine_between(share, self.wrong_short, self.wrong_long))
        if self.exceeded is not None:
            over = batch.truncated | ((lengths + self.tolerance >= limit) & (self.tolerance > 0))
            reward = torch.where(over, self.exceeded, reward)
        return in_place(batch, "cosine_length", reward)
