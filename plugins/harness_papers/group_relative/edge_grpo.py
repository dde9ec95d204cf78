"""EDGE-GRPO: confidence decides how much an answer's advantage counts."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(name="edge-grpo", paper="2507.21848", base="grpo(beta=0)", needs={"entropy"})
class EdgeGRPO:
    """Confident right answers gain more and confident wrong ones lose more: advantages over relative entropy.

    A_i <- A_i mean_b(E) / E_i, E_i the mean entropy of the tokens of a completion, mean_b over the batch. The paper's
    second part, guided correction of failed answers, needs reference solutions and is not here.

    clamp: bounds E_i / mean_b(E) to [1 / clamp, clamp] (None: no bound, as published; 10 stands in a comment of the
    code). average: "sum" compares sums of entropies, what the authors' code amounts to, as its mean runs over padding.
    Edge cases: equal entropies change nothing; equal rewards stay at 0; a completion without entropy keeps its A_i.
    Source: arXiv 2507.21848 and the authors' code, whose E_i carries a gradient and ours does not. Confidence: code.
    """

    clamp: float | None = None
    average: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.average not in {"mean", "sum"} or (self.clamp is not None and self.clamp < 1):
            msg = f"edge-grpo(average={self.average!r}, clamp={self.clamp}): 'mean' or 'sum', and clamp at least 1"
            raise PluginError(msg)

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, over relative entropy."""
        advantages = yield
        if batch.entropy is None:
            msg = "edge-grpo needs batch.entropy, the entropy of every token"
            raise PluginError(msg)
        entropy = batch.sequence_sum(batch.entropy) if self.average == "sum" else batch.sequence_mean(batch.entropy)
        everyone = Groups(torch.zeros_like(batch.prompt))
        relative = entropy / everyone.mean(entropy, entropy > 0).clamp_min(torch.finfo(entropy.dtype).tiny)
        if self.clamp is not None:
            relative = relative.clamp(1 / self.clamp, self.clamp)
        known = entropy > 0
        return torch.where(known[:, None], advantages / torch.where(known, relative, 1.0)[:, None], advantages)
