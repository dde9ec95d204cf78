"""Probability ratios of two policies on the same tokens: token by token, or of whole completions."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from harness.mathematics.masks import masked

__all__ = ["Level", "importance_weights", "log_gap", "mean_one", "per_row"]

Level = Literal["token", "sequence", "geometric"]

LIMIT = 20.0  # exp(20) = 5e8: beyond it a float32 weight says nothing
REDUCTION = {"token": "token", "sequence": "sum", "geometric": "mean"}


def log_gap(logp: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """[N, T] logp - other, clamped to +-20; 0 where masked and where one of them is not known (NaN)."""
    gap = masked(logp - other, mask)
    return torch.where(gap.isnan(), torch.zeros_like(gap), gap).clamp(-LIMIT, LIMIT)


def per_row(x: Tensor, mask: Tensor, how: str) -> Tensor:
    """X [N, T] itself (`token`), or [N, 1] its `sum`, `mean` or `max` over a row's tokens; 0 for a row without any.

    Raises ValueError for another `how`.
    """
    if how == "token":
        return masked(x, mask)
    if how == "max":
        lowest = torch.where(mask > 0, x, torch.full_like(x, -torch.inf))
        lowest = torch.nn.functional.pad(lowest, (0, 1), value=-torch.inf).amax(-1, keepdim=True)
        return torch.where(lowest.isinf(), torch.zeros_like(lowest), lowest)
    total = masked(x, mask).sum(-1, keepdim=True)
    if how == "sum":
        return total
    if how == "mean":
        return total / mask.sum(-1, keepdim=True).clamp_min(1)
    msg = f"unknown way to reduce a row {how!r}; choose token, sum, mean or max"
    raise ValueError(msg)


def importance_weights(gap: Tensor, mask: Tensor, level: str = "token") -> Tensor:
    """The ratios of which `gap` [N, T] is the logarithm: of tokens [N, T], or of completions [N, 1].

    token: exp(gap). sequence: exp(sum over the row), the product of its token ratios. geometric: exp(mean over the
    row), which does not depend on the length. The logarithm is clamped to +-20. Raises ValueError for another level.
    """
    if level not in REDUCTION:
        msg = f"unknown level {level!r}; choose token, sequence or geometric"
        raise ValueError(msg)
    return per_row(gap, mask, REDUCTION[level]).clamp(-LIMIT, LIMIT).exp()


def mean_one(weights: Tensor, mask: Tensor) -> Tensor:
    """Weights [N, T] over their mean over tokens, or [N, 1] over their mean over the rows that have any."""
    counted = mask if weights.shape == mask.shape else (mask > 0).any(-1, keepdim=True).to(mask.dtype)
    return weights / (masked(weights, counted).sum() / counted.sum().clamp_min(1)).clamp_min(1e-8)
