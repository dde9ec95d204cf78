"""Constrained distillation: the task's reward is paid only near the teacher."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.kl_reward import written_kl
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="constrained-distillation",
    paper="2509.22921",
    base="grpo(beta=0)",
    needs={"reference"},
    scope="group",
    experimental=True,
    active={"budget": -1.0},
)
class ConstrainedDistillation:
    """The task's reward counts while a completion's divergence from the teacher is within budget, else only the excess.

    D_i = mean_t (logp_old - logp_teacher);  R_i = r_i if D_i <= budget, else -lam (D_i - budget); in place of the
    task's columns.

    The teacher is the reference policy: the harness has no other model that reads the same tokens, and a larger one can
    be given as the suite's reference. budget in nats per token; both numbers are ours, and the penalty of the paper's
    token-level version is not here.
    Edge cases: a negative estimate is within budget; there is a jump at the budget; where all are outside, D ranks
    them; empty completions have D = 0.
    Source: arXiv 2509.22921, the abstract. Confidence: abstract (reconstructed).
    """

    budget: float = 0.1
    lam: float = 1.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Reward or excess."""
        batch = yield
        apart = batch.sequence_mean(written_kl(batch)).to(batch.rewards.dtype)
        return in_place(batch, "constrained", self.paid(batch.reward, apart))

    def paid(self, reward: Tensor, apart: Tensor) -> Tensor:
        """[N] from rewards and divergences."""
        excess = apart - self.budget
        return torch.where(excess <= 0, reward, -self.lam * excess)
