"""Multi-label reward regression: one model predicts all aspects, and GRPO runs on their weighted sum."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import in_place
from harness_papers.rewards.heads import EndHead

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="multi-label-reward", paper="2503.21819", base="grpo(beta=0)", needs={"hidden"}, experimental=True)
class MultiLabelReward:
    """The policy sees the weighted sum of what one regressor with an output for every aspect predicts of a completion.

    R_i = sum_k w_k f_k(o_i), in place of the task's columns; f learns by squared error on the aspects' labels.

    The paper's regressor is a pretrained language model. Here it is a linear head on the policy's state at the end of a
    completion; the aspects are the task's columns and weights, and it learns, with head_lr, from every step's
    completions after these were rewarded. warmup: steps with the task's own reward while it begins to.
    Edge cases: a column that does not apply teaches nothing; aspects of large variance dominate (compare mo-grpo).
    Source: arXiv 2503.21819, the abstract. Confidence: abstract; the regressor is ours.
    """

    head_lr: float = 1e-3
    warmup: int = 0

    @hookimpl
    def start(self, state: Any) -> None:
        """The aspects."""
        self.aspects: tuple[str, ...] = () if state.task is None else tuple(state.task.columns)

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """One output an aspect."""
        head = EndHead(policy.model.config.hidden_size, len(self.aspects), state.generator)
        return {"aspects": Trained(head, lr=self.head_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """What is predicted of a completion, and the labels."""
        return {
            "aspects": policy.evaluate(batch).modules["aspects"].detach(),
            "labels": self._columns(batch, batch.rewards),
        }

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """The predicted reward."""
        batch = yield
        if state.step < self.warmup:
            return batch
        found = batch.extras.get("aspects")
        if found is None:
            msg = "multi-label-reward needs batch.extras['aspects'], predictions [N, columns], which annotate gives"
            raise PluginError(msg)
        weights = self._columns(batch, batch.reward_weights[None])[0] if self.aspects else batch.reward_weights
        return in_place(batch, "predicted", found.to(weights) @ weights)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The regressor's own loss."""
        found = output.modules["aspects"]
        labels = batch.extras["labels"].to(found.dtype)
        known = ~labels.isnan()
        errors = torch.where(known, found - labels.nan_to_num(), 0)
        return errors.square().sum() / known.sum().clamp_min(1)

    def _columns(self, batch: Batch, table: Tensor) -> Tensor:
        """Of a table [., K], the columns of the aspects; NaN where the batch lacks one."""
        blank = torch.full_like(table[:, 0], torch.nan)
        names = batch.reward_names
        return torch.stack([table[:, names.index(name)] if name in names else blank for name in self.aspects], 1)
