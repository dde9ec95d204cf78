"""Small reward models that train along: outputs on the policy's state at the end of a completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["EndHead", "end_state", "seen_by"]

PRIME, MIX = 2654435761, 6364136223846793005


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
        scores: Tensor = self.linear(end_state(batch, hidden).to(self.linear.weight.dtype))
        return scores


def end_state(batch: Batch, hidden: Tensor) -> Tensor:
    """[N, D] of hidden states [N, T, D]: the one before the last token, 0 for an empty completion; no gradient."""
    last = batch.last_token.to(hidden.dtype)[:, :, None]
    return (hidden.detach() * last).sum(1)


def seen_by(batch: Batch, members: int, share: float) -> Tensor:
    """[N, members] bool: a fixed share of all completions for every member, by their tokens."""
    places = torch.arange(1, batch.tokens + 1, device=batch.device)
    inside = places <= batch.lengths[:, None]
    code = ((batch.completion_ids + 1) * places * PRIME * inside).sum(1, keepdim=True)
    member = torch.arange(1, members + 1, device=batch.device)
    mixed = ((code + member * PRIME) * MIX) >> 33
    return (mixed % 1000).abs() < 1000 * share
