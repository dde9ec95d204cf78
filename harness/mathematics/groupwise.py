"""Sums over the members of a group that are safe to differentiate where nobody counts."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["all_pairs_square", "group_average", "log_mean_exp", "log_sum_exp"]


def log_sum_exp(groups: Groups, x: Tensor, where: Tensor | None = None, *, plus: float = 0.0) -> Tensor:
    """[number] ln(plus + sum of exp(x) over the members that count), with gradient; 0 where the sum is empty.

    plus: 1 gives a softplus over several.
    """
    counts = torch.ones_like(x, dtype=torch.bool) if where is None else where
    top = groups.max(x.detach(), counts)
    if plus:
        top = top.clamp_min(0)
    near = torch.where(counts, x - top, torch.zeros_like(x))
    level = _per_group(groups, top)
    total = groups.sum(torch.where(counts, near.exp(), torch.zeros_like(x)), expand=False) + plus * (-level).exp()
    known = total > 0
    return torch.where(known, torch.where(known, total, torch.ones_like(total)).log() + level, torch.zeros_like(total))


def log_mean_exp(groups: Groups, x: Tensor, where: Tensor | None = None) -> Tensor:
    """[number] ln of the mean of exp(x) over the members that count, with gradient; 0 where nobody does."""
    counts = torch.ones_like(x, dtype=torch.bool) if where is None else where
    number = groups.count(counts, expand=False).clamp_min(1).to(x.dtype)
    return log_sum_exp(groups, x, counts) - number.log()


def all_pairs_square(groups: Groups, x: Tensor, where: Tensor | None = None) -> Tensor:
    """[number] the sum of (x_i - x_j)^2 over all unordered pairs of members that count: n times their scatter."""
    counts = torch.ones_like(x, dtype=torch.bool) if where is None else where
    scatter = groups.sum(groups.center(x, counts).square(), counts, expand=False)
    return scatter * groups.count(counts, expand=False)


def group_average(groups: Groups, values: Tensor, where: Tensor) -> Tensor:
    """A scalar: the sum of values [number] over the groups that have a member in `where` [M], over their number."""
    present = groups.any(where, expand=False)
    return (values * present).sum() / present.sum().clamp_min(1)


def _per_group(groups: Groups, x: Tensor) -> Tensor:
    """[number] the value that all members of a group have in x [M]."""
    return x[groups.first] if groups.number else x[:0]
