"""Padding ragged rows: prompts left, completions right, masks from lengths and never from ids."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

__all__ = ["cat_left", "cat_right", "length_mask", "pad_left", "pad_right"]


def pad_left(rows: Sequence[Sequence[int]], value: int) -> tuple[Tensor, Tensor]:
    """Token ids [N, P] with every row at the right edge, and the bool mask of real tokens."""
    width = max(map(len, rows), default=0)
    ids = torch.tensor([[value] * (width - len(row)) + list(row) for row in rows], dtype=torch.long)
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
    return ids.view(len(rows), width), length_mask(lengths, width).flip(1)


def pad_right(rows: Sequence[Sequence[float]], value: float, dtype: torch.dtype) -> Tensor:
    """[N, T] with every row at the left edge."""
    width = max(map(len, rows), default=0)
    return torch.tensor([[*row, *([value] * (width - len(row)))] for row in rows], dtype=dtype).view(len(rows), width)


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """Where position < length: bool [N, width]."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def cat_left(parts: Sequence[Tensor]) -> Tensor:
    """Rows of several left-padded tensors [N_i, P_i], filled with zeros on the left."""
    width = max(part.shape[1] for part in parts)
    return torch.cat([pad(part, (width - part.shape[1], 0)) for part in parts])


def cat_right(parts: Sequence[Tensor]) -> Tensor:
    """Rows of several tensors [N_i] or [N_i, T_i, ...], filled with zeros behind dimension 1."""
    if parts[0].dim() == 1:
        return torch.cat(list(parts))
    width = max(part.shape[1] for part in parts)
    spare = (0, 0) * (parts[0].dim() - 2)
    return torch.cat([pad(part, (*spare, 0, width - part.shape[1])) for part in parts])
