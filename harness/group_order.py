"""The order of members within their groups: ranks, and the member at a place.

Groups of about the same size are sorted side by side, in a table with a row a group; groups so unequal that the table
would be mostly empty by two sorts of all rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["picked", "ranks"]

SPARSE = 4  # cells of the table for every member, at most


def ranks(x: Tensor, counts: Tensor, index: Tensor, sizes: Tensor) -> Tensor:
    """int64 of x's shape [M, ...]: places among those that count, ties in row order; any number for the others."""
    if not len(x):
        return index.new_zeros(x.shape)
    cells, wide = _cells(index, sizes)
    order = _table(x, counts, sizes, cells, wide).argsort(dim=1, stable=True) if wide else _order(x, counts, index)
    axis = 1 if wide else 0
    places = torch.arange(order.shape[axis], device=x.device)
    places = places.reshape(-1, *[1] * (order.dim() - 1 - axis)).expand_as(order)
    found = torch.empty_like(order).scatter_(axis, order, places)
    if wide:
        return found.flatten(0, 1).index_select(0, cells)
    return found - _beside(_starts(sizes).index_select(0, index), found)


def picked(x: Tensor, counts: Tensor, index: Tensor, sizes: Tensor, places: list[Tensor]) -> list[Tensor]:
    """For each of places [number, ...], the members there in the order of their groups; any number where nobody is."""
    if not len(x):
        return [x.new_zeros(0, *x.shape[1:]) for _ in places]
    cells, wide = _cells(index, sizes)
    if wide:
        upwards = _table(x, counts, sizes, cells, wide).sort(dim=1, stable=True).values
        return [upwards.gather(1, place[:, None])[:, 0] for place in places]
    order, starts = _order(x, counts, index), _beside(_starts(sizes), x)
    return [x.gather(0, order.gather(0, starts + place)) for place in places]


def _cells(index: Tensor, sizes: Tensor) -> tuple[Tensor, int]:
    """[M] every row's cell in the flat table, and how wide that is; width 0 where a table is no good idea."""
    wide = int(sizes.max())
    if len(sizes) * wide > SPARSE * len(index):
        return index, 0
    rows = torch.arange(len(index), device=index.device)
    if bool((index[1:] >= index[:-1]).all()):
        place = rows - _starts(sizes).index_select(0, index)
    else:
        order = index.argsort(stable=True)
        place = torch.empty_like(rows).scatter_(0, order, rows - _starts(sizes).index_select(0, index[order]))
    return index * wide + place, wide


def _table(x: Tensor, counts: Tensor, sizes: Tensor, cells: Tensor, wide: int) -> Tensor:
    """[number, wide, ...] members in row order; NaN, which sorts last, for who does not count and where nobody is."""
    empty = x.new_full((len(sizes) * wide, *x.shape[1:]), torch.nan)
    return empty.index_copy(0, cells, torch.where(counts, x, torch.nan)).unflatten(0, (len(sizes), wide))


def _order(x: Tensor, counts: Tensor, index: Tensor) -> Tensor:
    """Row order by (group, counts first, value)."""
    by_value = x.detach().argsort(dim=0, stable=True)
    place = 2 * _beside(index, x) + (~counts).long()
    return by_value.gather(0, place.gather(0, by_value).argsort(dim=0, stable=True))


def _starts(sizes: Tensor) -> Tensor:
    return sizes.cumsum(0) - sizes


def _beside(x: Tensor, like: Tensor) -> Tensor:
    """X [M] broadcast to like's trailing axes."""
    return x.reshape(-1, *[1] * (like.dim() - 1)).expand(x.shape[0], *like.shape[1:])
