"""Ranks within a group, ties included; NaN has rank NaN."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["dense_rank", "mean_rank", "table"]


def mean_rank(groups: Groups, x: Tensor) -> Tensor:
    """[M] or [M, K] 0-based ranks within the group; equal members share the mean of theirs."""
    flat = x.reshape(len(groups), x.shape[1:].numel())
    known = ~flat.isnan().reshape(-1)
    run, place, begins = _runs(groups, flat)
    size = flat.new_zeros(len(run)).index_add(0, run, known.to(flat.dtype))
    first = torch.zeros_like(run).index_copy(0, run[begins], place[begins])
    mean = first[run] + (size[run] - 1) / 2
    return torch.where(known, mean, torch.nan).reshape(x.shape)


def dense_rank(groups: Groups, x: Tensor) -> Tensor:
    """[M] or [M, K] the number of distinct smaller values in the group."""
    flat = x.reshape(len(groups), x.shape[1:].numel())
    kinds = _runs(groups, flat)[0].reshape(flat.shape).to(x.dtype)  # ascending by column, group and value
    return torch.where(flat.isnan(), torch.nan, kinds - groups.min(kinds)).reshape(x.shape)


def table(groups: Groups, x: Tensor, place: Tensor) -> Tensor:
    """[groups, largest size, ...] the x [M, ...] of every group at the members' places, 0 where there is none."""
    wide = int(groups.count(expand=False).max()) if len(groups) else 0
    found = x.new_zeros(groups.number, wide, *x.shape[1:])
    if place.dim() == 1:
        return found.index_put((groups.index, place), x)
    column = torch.arange(x.shape[1], device=x.device).expand_as(x)
    return found.index_put((groups.index[:, None].expand_as(x), place, column), x)


def _runs(groups: Groups, flat: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For all entries of flat [M, K]: the number of their run of equal values, their rank, whether they begin the run.

    [M K] each. Runs are numbered upwards by column, group and value.
    """
    rows, columns = flat.shape
    values = flat.nan_to_num(torch.inf)
    rank = groups.rank(values)
    sizes = groups.count(expand=False)
    starts = torch.arange(columns, device=flat.device) * rows + (sizes.cumsum(0) - sizes)[:, None]
    position = (starts.index_select(0, groups.index) + rank).reshape(-1)
    upwards = torch.empty_like(values).reshape(-1).index_copy(0, position, values.reshape(-1))
    begins = torch.ones_like(position, dtype=torch.bool)
    begins[1:] = upwards[1:] != upwards[:-1]
    begins[starts] = True
    run = begins.cumsum(0) - 1
    return run.index_select(0, position), rank.reshape(-1), begins.index_select(0, position)
