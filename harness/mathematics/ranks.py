"""Ranks within a group, ties included."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["average_rank"]


def average_rank(groups: Groups, x: Tensor) -> Tensor:
    """[M] or [M, K] the 1-based rank of a member in its group; equal members share the mean of theirs; NaN keeps NaN."""
    flat = x.reshape(len(groups), -1)
    ordinal = groups.rank(flat).to(flat.dtype) + 1
    kind = torch.arange(flat.shape[1], device=x.device).expand_as(flat)
    keys = torch.stack([kind, groups.index[:, None].expand_as(flat)], -1).reshape(-1, 2).to(flat.dtype)
    ties = Groups(torch.cat([keys, flat.nan_to_num().reshape(-1, 1)], 1))
    known = ~flat.isnan()
    mean = ties.mean(ordinal.reshape(-1), known.reshape(-1)).reshape(flat.shape)
    return torch.where(known, mean, torch.nan).reshape(x.shape)
