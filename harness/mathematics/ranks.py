"""Ranks within a group, ties included; NaN has rank NaN."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["dense_rank", "mean_rank", "table"]


def mean_rank(groups: Groups, x: Tensor) -> Tensor:
    """[M] or [M, K] 0-based ranks within the group; equal members share the mean of theirs."""
    flat = x.reshape(len(groups), -1)
    known = ~flat.isnan()
    mean = _ties(groups, flat).mean(groups.rank(flat).to(flat.dtype).reshape(-1), known.reshape(-1))
    return torch.where(known, mean.reshape(flat.shape), torch.nan).reshape(x.shape)


def dense_rank(groups: Groups, x: Tensor) -> Tensor:
    """[M] or [M, K] the number of distinct smaller values in the group."""
    flat = x.reshape(len(groups), -1)
    kinds = _ties(groups, flat).index.reshape(flat.shape).to(x.dtype)  # ascending by column, group and value
    return torch.where(flat.isnan(), torch.nan, kinds - groups.min(kinds)).reshape(x.shape)


def table(groups: Groups, x: Tensor, place: Tensor) -> Tensor:
    """[groups, largest size, ...] the x [M, ...] of every group at the members' places, 0 where there is none."""
    wide = int(groups.count().max()) if len(groups) else 0
    found = x.new_zeros(groups.number, wide, *x.shape[1:])
    if place.dim() == 1:
        return found.index_put((groups.index, place), x)
    column = torch.arange(x.shape[1], device=x.device).expand_as(x)
    return found.index_put((groups.index[:, None].expand_as(x), place, column), x)


def _ties(groups: Groups, flat: Tensor) -> Groups:
    """The groups of equal values, over all entries of flat [M, K]."""
    kind = torch.arange(flat.shape[1], device=flat.device).expand_as(flat)
    keys = [kind.to(flat.dtype), groups.index[:, None].expand_as(flat).to(flat.dtype), flat.nan_to_num(torch.inf)]
    return Groups(torch.stack(keys, -1).reshape(-1, 3))
