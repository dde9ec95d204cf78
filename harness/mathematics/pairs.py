"""Pairs of members of one group, all at once: the best against the worst, every ordered pair, every pair."""

from __future__ import annotations

import dataclasses
from typing import Literal

import torch
from torch import Tensor

from harness.groups import Groups
from harness.mathematics.ranks import table

__all__ = ["PairKind", "Pairs", "pairs_within"]

PairKind = Literal["extremes", "ordered", "every"]
KINDS = ("extremes", "ordered", "every")


@dataclasses.dataclass(frozen=True)
class Pairs:
    """P pairs of rows: int64 `first` and `second` [P], and weights [P] with sum 1 (no pair: 0).

    All groups that have a pair weigh the same, and so do the pairs of one group.
    """

    first: Tensor
    second: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return self.first.shape[0]

    def where(self, chosen: Tensor, groups: Groups) -> Pairs:
        """Those of `chosen`, bool [P], weighted anew."""
        first, second = self.first[chosen], self.second[chosen]
        return Pairs(first, second, _weights(groups.index[first], groups.number, self.weight.dtype))

    def gap(self, x: Tensor) -> Tensor:
        """[P] x of the first minus x of the second, for x [M]."""
        return x[self.first] - x[self.second]

    def mean(self, values: Tensor) -> Tensor:
        """A scalar: the mean over the groups that have a pair of the mean of values [P] over their pairs."""
        return (self.weight.to(values.dtype) * values).sum()


def pairs_within(groups: Groups, score: Tensor, where: Tensor | None = None, kind: str = "ordered") -> Pairs:
    """The pairs of members that count, by score [M].

    extremes: a highest against a lowest (each of them where several are equal); ordered: every pair with a strict
    order; both give the higher one first and leave out ties. every: each pair once, whatever the scores.
    NaN scores never count. Raises ValueError for another kind.
    """
    if kind not in KINDS:
        msg = f"unknown kind of pairs {kind!r}; choose {', '.join(KINDS)}"
        raise ValueError(msg)
    counts = ~score.isnan() if where is None else where.bool() & ~score.isnan()
    rows = torch.arange(1, len(groups) + 1, device=score.device)
    members = table(groups, rows, groups.rank(torch.zeros_like(score))) - 1  # [groups, size], -1 for nobody
    first, second = members[:, :, None], members[:, None, :]
    chosen = first < second if kind == "every" else score[first] > score[second]
    if kind == "extremes":
        best, worst = score == groups.max(score, counts), score == groups.min(score, counts)
        chosen = chosen & best[first] & worst[second]
    chosen = chosen & (first >= 0) & (second >= 0) & counts[first] & counts[second]
    group, one, other = chosen.nonzero(as_tuple=True)
    return Pairs(members[group, one], members[group, other], _weights(group, groups.number, score.dtype))


def _weights(group: Tensor, number: int, dtype: torch.dtype) -> Tensor:
    """[P] the same for all groups that have a pair, and for all pairs of a group."""
    size = torch.bincount(group, minlength=number)
    return 1 / (size[group] * (size > 0).sum()).to(dtype)
