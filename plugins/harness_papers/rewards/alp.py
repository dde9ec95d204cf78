"""ALP: a price per token that rises with the pass rate."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness_papers.reward_columns import verdict

if TYPE_CHECKING:
    from harness import Batch


@method(
    paper="2506.05256",
    base="grpo(beta=0)",
    scope="group",
    neutral={"beta": 0.0},
    exempt={"precision": "1e-7 a token beside a reward of 1 is at the edge of float32, as published"},
)
class ALP:
    """Tokens are charged in proportion to how often the policy already solves the prompt.

    R_i += -beta max(p, 1/G) T_i / norm, with p the pass rate of the group; wrong completions pay as well.

    beta, norm: 1e-7 and 1 for completions of thousands of tokens (from memory, as the catalogue of this field has it).
    Edge cases: all wrong still charges 1/G; where all are correct a z-score makes beta irrelevant, and A is that of -T.
    Source: arXiv 2506.05256 by way of a review that states the reward. Confidence: secondary.
    """

    beta: float = 1e-7
    norm: float = 1.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The charge as a column."""
        batch = yield
        if not self.beta:
            return batch
        rate = torch.maximum(batch.groups.mean(verdict(batch)), 1 / batch.groups.count())
        charge = rate * batch.lengths / self.norm
        return batch.add_reward("token_charge", charge, -self.beta)
