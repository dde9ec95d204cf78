"""Returns and advantages along a completion."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.mathematics.masks import masked

__all__ = ["discounted_returns", "gae", "reverse_scan"]


def reverse_scan(x: Tensor, factor: Tensor) -> Tensor:
    """The y of y_t = x_t + factor_t y_{t+1} along the last axis, 0 after the end, in log2(T) doubling steps."""
    factor = factor.expand_as(x)
    step = 1
    while step < x.shape[-1]:
        later = torch.nn.functional.pad(x[..., step:], (0, step))
        x = x + factor * later
        factor = factor * torch.nn.functional.pad(factor[..., step:], (0, step))
        step *= 2
    return x


def discounted_returns(rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> Tensor:
    """[N, T] sum of gamma^k times the rewards from token t on; masked tokens are skipped and get 0."""
    counted = masked(rewards, mask)
    if gamma == 1:
        return masked(counted.flip(-1).cumsum(-1).flip(-1), mask)
    factor = torch.where(mask > 0, torch.full_like(rewards, gamma), torch.ones_like(rewards))
    return masked(reverse_scan(counted, factor), mask)


def gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float | Tensor = 1.0
) -> tuple[Tensor, Tensor]:
    """Generalized advantage estimates and returns [N, T] (arXiv 1506.02438).

    delta_t = r_t + gamma V_{t+1} - V_t with V = 0 after the last token; A_t = delta_t + gamma lam A_{t+1};
    returns = A + V. Masked tokens are skipped: value and advantage pass through them. `lam` may be [N, 1].
    """
    on = mask > 0
    held = masked(values, mask)
    # The first counted value at or after t, moved by one: what follows token t.
    at_or_after = reverse_scan(held, (~on).to(values.dtype))
    following = torch.nn.functional.pad(at_or_after[..., 1:], (0, 1)) if values.shape[-1] else at_or_after
    delta = masked(rewards + gamma * following - held, mask)
    decay = torch.as_tensor(gamma * lam, dtype=values.dtype, device=values.device)
    advantages = masked(reverse_scan(delta, torch.where(on, decay, torch.ones_like(decay))), mask)
    return advantages, advantages + held
