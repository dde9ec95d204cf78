"""A small reward model that trains along: linear outputs on the policy's state at the end of a completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["EndHead"]


class EndHead(nn.Module):
    """Scores [N, outputs] of completions, from the state before their last token; no gradient into the policy."""

    def __init__(self, width: int, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(width, outputs)
        with torch.no_grad():
            self.linear.weight.normal_(0, width**-0.5, generator=generator)
            self.linear.bias.zero_()

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:
        """Scores of the batch's rows, whose hidden states are [N, T, D]; an empty completion has the bias alone."""
        last = batch.last_token.to(hidden.dtype)[:, :, None]
        scores: Tensor = self.linear((hidden.detach() * last).sum(1).to(self.linear.weight.dtype))
        return scores
