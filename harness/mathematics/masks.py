"""Values at masked tokens, and rewards that are missing, never matter."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["masked", "only_scored"]


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """X where the mask is on, else 0 (a product would keep NaN and inf)."""
    return torch.where(mask > 0, x, torch.zeros((), dtype=x.dtype, device=x.device))


def only_scored(reward: Tensor, rewards: Tensor) -> Tensor:
    """The combined reward [N] with NaN for rows of which every column of `rewards` [N, K] is missing.

    `Groups` leaves such rows out of its statistics and centres them to 0.
    """
    return torch.where(rewards.isnan().all(-1), torch.full_like(reward, torch.nan), reward)
