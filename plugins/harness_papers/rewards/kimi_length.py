"""Kimi k1.5's length reward."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch

from harness import hookimpl, method
from harness.mathematics import relative_brevity

if TYPE_CHECKING:
    from harness import Batch


@method(name="kimi-length", paper="2501.12599", base="grpo(beta=0)", scope="group")
class KimiLength:
    """A linear bonus for being short within the group; wrong answers can lose by length but not gain.

    lam_i = 1/2 - (T_i - min_g T) / (max_g T - min_g T);  R_i += weight * (lam_i if correct, else min(0, lam_i)).

    weight: 1 in open-r1, 0.4 in the LASER authors' code; Kimi's own is not published. warmup: steps without it (Kimi
    adds it after a warm-up). Open-r1 counts characters and takes minimum and maximum over the whole batch; this is per
    group, as the paper has it.
    Edge cases: equal lengths give 0.
    Source: arXiv 2501.12599; open-r1. Confidence: code.
    """

    weight: float = 1.0
    warmup: int = 0

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """The bonus as a column."""
        batch = yield
        bonus = relative_brevity(batch.groups, batch.lengths.to(batch.rewards.dtype))
        bonus = torch.where(batch.correct, bonus, bonus.clamp_max(0))
        return batch.add_reward("relative_brevity", bonus, self.weight * (state.step >= self.warmup))
