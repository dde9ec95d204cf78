"""Surrogates of the policy gradient, elementwise, and the ratios they are made of. Losses are minimised."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.mathematics.masks import masked

__all__ = ["ppo_clip_loss", "sequence_log_ratio"]


def ppo_clip_loss(
    ratio: Tensor, advantages: Tensor, low: float | Tensor = 0.2, high: float | Tensor = 0.2, dual: float | None = None
) -> Tensor:
    """-min(r A, clip(r, 1 - low, 1 + high) A): the clipped surrogate of PPO (arXiv 1707.06347) as a loss, elementwise.

    With `dual` = c > 1 a loss of a negative advantage is at most -c A (arXiv 1912.09729). Bounds may be tensors, both.
    """
    clipped = torch.clamp(ratio, 1 - low, 1 + high)  # type: ignore[arg-type]  # it takes two of either kind
    loss = torch.maximum(-ratio * advantages, -clipped * advantages)
    if dual is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -dual * advantages), loss)


def sequence_log_ratio(log_ratio: Tensor, mask: Tensor, *, normalize: bool = True, eps: float = 0.0) -> Tensor:
    """[N, 1] sum over a row's tokens of log pi - log pi_old; 0 for an empty row.

    If `normalize`, over the length, to which `eps` is added.
    """
    total = masked(log_ratio, mask).sum(-1, keepdim=True)
    return total / (mask.sum(-1, keepdim=True).clamp_min(1) + eps) if normalize else total
