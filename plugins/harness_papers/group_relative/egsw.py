"""EGSW: a softmax over the group decides whose gradient counts."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2503.22456", base="grpo", needs={"entropy"}, scope="group", experimental=True)
class EGSW:
    """Completions of a group weigh by the softmax of advantage plus entropy, instead of equally.

    w_{i,t} = exp((A_i + alpha H_{i,t}) / temperature) / sum_j exp((A_j + alpha H_{j,t}) / temperature), over the
    completions that still run at t;  A_{i,t} <- n w_{i,t} A_i, n how many those are, so that equal weights change
    nothing. Weights are detached.

    per: "sequence" uses mean entropies and one softmax over completions. alpha, temperature: tuned per model, values
    not found: these are ours, and so is who takes part at t where lengths differ.
    Edge cases: a large temperature is the base; a small one leaves the best only, and the zero mean of GRPO is lost.
    Source: arXiv 2503.22456 by way of a summary with the formula. Confidence: secondary (constants reconstructed).
    """

    alpha: float = 0.5
    temperature: float = 1.0
    per: Literal["token", "sequence"] = "token"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.per not in {"token", "sequence"} or not self.temperature > 0:
            msg = f"egsw(per={self.per!r}, temperature={self.temperature}): 'token' or 'sequence', temperature > 0"
            raise PluginError(msg)

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, weighted."""
        advantages = yield
        if batch.entropy is None:
            msg = "egsw needs batch.entropy, the entropy of every token"
            raise PluginError(msg)
        if self.per == "token":
            counts, entropy = batch.mask > 0, batch.entropy
        else:
            counts, entropy = (batch.mask > 0).any(-1, keepdim=True), batch.sequence_mean(batch.entropy)[:, None]
            if advantages.shape[1] != 1:
                advantages = batch.sequence_mean(advantages)[:, None]
        score = ((advantages + self.alpha * entropy) / self.temperature).to(advantages.dtype)
        total = batch.groups.logsumexp(score, counts)
        weight = torch.where(counts, score - total, -torch.inf).exp() * batch.groups.count(counts)
        return torch.where(counts, weight * advantages, torch.zeros_like(advantages))
