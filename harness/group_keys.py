"""Which rows have equal keys: numbers 0, 1, ... in ascending order of the keys."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["numbered"]

FEW = 8  # columns: so many are faster sorted one after the other than as rows


def numbered(keys: Tensor) -> Tensor:
    """[M] int64 for keys [M], or [M, C] compared as tuples."""
    if keys.numel() == 0:
        return torch.zeros(keys.shape[0], dtype=torch.long, device=keys.device)
    if keys.dim() == 1:
        return _column(keys)
    if keys.shape[1] > FEW:
        return torch.unique(keys, dim=0, return_inverse=True)[1]
    index = _column(keys[:, 0])
    for column in keys.unbind(1)[1:]:
        within = _column(column)
        index = _column(index * (within.max() + 1) + within)  # below M * M, so that int64 holds it
    return index


def _column(keys: Tensor) -> Tensor:
    """[M]; rows that stand in order, as a step's own do, need no sort."""
    if bool((keys[1:] >= keys[:-1]).all()):
        if bool(keys[0] == keys[-1]):
            return torch.zeros_like(keys, dtype=torch.long)
        return torch.unique_consecutive(keys, return_inverse=True)[1]
    return torch.unique(keys, return_inverse=True)[1]
