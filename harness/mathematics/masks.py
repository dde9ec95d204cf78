"""Values at masked tokens never matter."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["masked"]


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """X where the mask is on, else 0 (a product would keep NaN and inf)."""
    return torch.where(mask > 0, x, torch.zeros((), dtype=x.dtype, device=x.device))
