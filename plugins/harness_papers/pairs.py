"""Every member of a group beside every other: the rows of groups as tables, and back."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from harness import Groups
from harness.mathematics import table

__all__ = ["Pairs"]


class Pairs(NamedTuple):
    """Tables [groups, n] of the rows of groups, n the size of the largest."""

    groups: Groups
    place: Tensor  # [M] the row's column in its group's table

    @classmethod
    def of(cls, groups: Groups) -> Pairs:
        """Rows in their order."""
        return cls(groups, groups.rank(torch.zeros(len(groups), device=groups.keys.device)))

    def table(self, x: Tensor) -> Tensor:
        """[groups, n, ...] of x [M, ...], 0 where a group has no such member."""
        return table(self.groups, x, self.place)

    def rows(self, found: Tensor) -> Tensor:
        """[M, ...] of tables [groups, n, ...]."""
        return found[self.groups.index, self.place]

    def others(self, where: Tensor | None = None) -> Tensor:
        """Bool [groups, n, n]: member i and another member j that are both there (and in `where`, bool [M])."""
        there = self.table(torch.ones_like(self.place) if where is None else where.long()) > 0
        both = there[:, :, None] & there[:, None, :]
        return both & ~torch.eye(there.shape[1], dtype=torch.bool, device=both.device)
