"""The reward design of process-model generation: quality columns averaged, and what an invalid text gets."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness_papers.reward_columns import active, column, in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="bpmn-reward", paper="github.com/chlauer99/RL_for_process_modeling", base="gspo", scope="group")
class BPMNReward:
    """The mean of the quality columns if the text is valid, a fixed value if not; one column may be targeted.

    R_i = sum_k w_k r_ik / sum_k w_k over the columns that apply to the row, w_k = 1, or `target_weight` for `target`;
    `invalid` where the first of the columns `valid` that the tasks have is 0 or less. In place of the task's columns.

    The qualities are the columns with a weight (syntactic, pragmatic and semantic ones in the study, which compares
    equal with targeted weights, and 0 with a negative value for invalid texts; neither number is in its code).
    Edge cases: rows without any column count as invalid, rows to which only `valid` does not apply are not; a group of
    invalid texts teaches nothing.
    Source: the authors' code. Confidence: code (reward), abstract (the grid).
    """

    invalid: float = 0.0
    target: str = ""
    target_weight: float = 2.0
    valid: tuple[str, ...] = ("format", "quality")

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Mean quality, or the value of the invalid."""
        batch = yield
        weights = batch.rewards.new_tensor(
            [self.target_weight if name == self.target else 1.0 for name in batch.reward_names]
        )
        counted = weights * active(batch) * ~batch.rewards.isnan()
        total = counted.sum(1)
        mean = (counted * batch.rewards.nan_to_num()).sum(1) / total.clamp_min(1e-12)
        fine = ~(column(batch, self.valid, "bpmn-reward") <= 0) & (total > 0)
        return in_place(batch, "model_quality", torch.where(fine, mean, self.invalid))
