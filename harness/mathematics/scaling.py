"""Ways to standardize that are not the plain z-score of `harness.groups`."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups
from harness.mathematics.masks import masked

__all__ = ["leave_one_out_standardize", "whiten"]


def whiten(
    x: Tensor, mask: Tensor, eps: float = 1e-8, *, correction: int = 1, floor: bool = False, count_eps: float = 0.0
) -> Tensor:
    """(x - mean) / sqrt(var + eps) over all counted tokens of x [N, T], 0 elsewhere; 0 where all are equal.

    correction: 0 for the variance over n instead of n - 1. floor: sqrt(max(var, eps)) instead.
    count_eps: added to the number of tokens that both means are taken over (1e-8 in verl; equal values give no 0 then).
    """
    flat = x.expand_as(mask).reshape(-1)
    counts = (mask.reshape(-1) > 0) & ~flat.isnan()
    number = counts.sum().to(x.dtype)
    every = Groups(torch.zeros(flat.shape[0], dtype=torch.long, device=x.device))
    center = every.center(flat, counts)
    variance = masked(center, counts).square().sum() / (number - correction).clamp_min(1)
    if count_eps:
        share = number / (number + count_eps)
        center, variance = center + every.mean(flat, counts) * (1 - share), variance * share
    variance = variance.clamp_min(eps) if floor else variance + eps
    return masked((center * variance.rsqrt()).reshape(mask.shape), mask)


def leave_one_out_standardize(groups: Groups, x: Tensor, eps: float = 1e-6) -> Tensor:
    """(x - mean) / (std + eps) with mean and std (n - 1) of the other members; unscaled where their std is 0.

    x [M] or [M, K]; NaN does not count and gives 0, like who has no other.
    """
    known = ~x.isnan()
    apart, number = groups.center(x), groups.count(known).to(x.dtype)
    total = groups.sum(apart.square())
    # With d the distance from the whole group's mean, the others' squares sum to total - d^2 n / (n - 1).
    square = total - apart.square() * number / (number - 1).clamp_min(1)
    square = torch.where(square > 16 * torch.finfo(x.dtype).eps * total, square, torch.zeros_like(square))
    std = (square / (number - 2).clamp_min(1)).sqrt() * (number > 2)
    distance = torch.where(known, x - groups.leave_one_out_mean(x), torch.zeros_like(x))
    return torch.where(std > 0, distance / (std + eps), distance)
