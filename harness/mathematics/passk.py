"""Combinatorics of k of n: binomials, and the mean of the best over the subsets of a group."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.groups import Groups
from harness.mathematics.ranks import table

__all__ = ["best_without", "choose", "subset_best"]

EXACT = 2.0**33  # whole numbers below it are rounded to what they are; lgamma is good to about 1e-13


def choose(n: Tensor | float, k: Tensor | float) -> Tensor:
    """Binomials C(n, k) in float64, broadcast; 0 where k < 0 or k > n."""
    n, k = torch.as_tensor(n, dtype=torch.float64), torch.as_tensor(k, dtype=torch.float64)
    exists = torch.logical_and(k >= 0, k <= n)
    low, high = torch.where(exists, k, torch.zeros_like(n)), torch.where(exists, n, torch.zeros_like(n))
    logs = _log_factorials(int(high.max()) if high.numel() else 0, high.device)
    high, low, rest = (logs[x.long()] for x in (high, low, high - low))
    value = (high - low - rest).exp()
    return torch.where(exists, torch.where(value < EXACT, value.round(), value), torch.zeros_like(value))


def _log_factorials(most: int, device: torch.device) -> Tensor:
    """[most + 1] ln n!: looked up, as batches ask for few different ones, many times."""
    return torch.lgamma(torch.arange(1, most + 2, dtype=torch.float64, device=device))


def subset_best(groups: Groups, x: Tensor, k: Tensor) -> Tensor:
    """[M] sum over the k-subsets of the group that contain i of their largest x, over the number of k-subsets.

    k [M], the same within a group and from 1 to its size. With members sorted upwards, the j-th is the best of
    C(j-1, k-1) subsets, C(j-2, k-2) of which contain a given smaller one (arXiv 2505.15201).
    """
    place = groups.rank(x)
    values = table(groups, x.to(torch.float64), place)
    order = torch.arange(1, values.shape[1] + 1, device=x.device)
    first = groups.first
    size, drawn = groups.count()[first][:, None], k[first][:, None]
    below = choose(order - 2, drawn - 2) * values
    above = below.flip(1).cumsum(1).flip(1) - below
    share = (choose(order - 1, drawn - 1) * values + above) / choose(size, drawn)
    return share[groups.index, place].to(x.dtype)


def best_without(groups: Groups, x: Tensor, k: Tensor) -> Tensor:
    """[M] the mean over the k-subsets of the group that leave i out of their largest x; needs k < size."""
    share = subset_best(groups, x, k)
    size = groups.count().to(x.dtype)
    return (groups.sum(share) / k - share) * size / (size - k).clamp_min(1)
