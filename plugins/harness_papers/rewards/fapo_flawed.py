"""FAPO: correct answers with a flawed derivation earn less."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness_papers.reward_columns import column, in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="fapo-flawed", paper="2510.22543", base="grpo(beta=0)", scope="group")
class FAPO:
    """A fixed amount off correct answers whose derivation is flawed: they help early and hurt later.

    R_i = 1 if correct and sound, 1 - weight if correct and flawed, -1 if wrong; in place of the task's columns. With
    weight 1 the advantage of a flawed answer changes sign where as many are sound as wrong.

    The paper asks a trained judge for the first wrong step. Here an answer is flawed if the first of the columns
    `process` that the tasks have is below `sound`: with `steps`, if a step of the scratchpad is wrong or missing. Rows
    without the column have no flaws.
    Edge cases: groups that agree give 0.
    Source: arXiv 2510.22543, the authors' recipe in verl; the judge is not here. Confidence: code.
    """

    weight: float = 1.0
    process: tuple[str, ...] = ("steps", "quality", "format")
    sound: float = 0.999

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The verdict, less the flaw."""
        batch = yield
        flawed = column(batch, self.process, "fapo-flawed") < self.sound
        reward = torch.where(batch.correct, 1 - self.weight * flawed, -1.0)
        return in_place(batch, "sound", reward.to(batch.rewards.dtype))
