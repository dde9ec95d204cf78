"""A discount on long correct answers, measured against the other correct ones."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import torch

from harness import hookimpl, method
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="efficient-length", paper="2502.04463", base="grpo(beta=0)", scope="group")
class EfficientLength:
    """A correct answer earns the less the longer it is compared with the prompt's other correct ones.

    R_i = c_i (1 - alpha sigmoid((T_i - mean_C(T)) / (std_C(T) + 1e-6))), std over n - 1 of the group's correct
    completions; in place of the task's columns.

    single: what one correct completion alone gets: "middle" the factor 1 - alpha / 2, "full" the whole discount (the
    LASER authors' code, which takes mean 0 and std 1 there).
    Edge cases: wrong answers get 0 whatever their length; equal lengths get the middle.
    Source: arXiv 2502.04463 as in the LASER authors' code. Confidence: code.
    """

    alpha: float = 0.4
    single: Literal["middle", "full"] = "middle"

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The discounted verdict."""
        batch = yield
        groups, correct = batch.groups, batch.correct
        lengths = batch.lengths.to(batch.rewards.dtype)
        relative = groups.standardize(lengths, correct)
        if self.single == "full":
            relative = torch.where(groups.count(correct) == 1, lengths, relative)
        return in_place(batch, "efficient_length", verdict(batch) * (1 - self.alpha * relative.sigmoid()))
