"""Formulas that more than one method needs, each once: surrogates, KL estimators, loss weights, returns.

Pure functions of tensors. N completions, T tokens; a mask [N, T] is 1 where a token counts. Values at masked tokens
never matter. Losses are minimised.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = [
    "KLKind", "constant_weights", "discounted_returns", "gae", "kl_estimate", "leave_one_out_standardize", "masked",
    "ppo_clip_loss", "reverse_scan", "sequence_log_ratio", "sequence_mean_weights", "sequence_sum_weights",
    "token_mean_weights", "whiten",
]  # fmt: skip

KLKind = Literal["k1", "k2", "k3", "abs", "low_var"]

LOG_LIMIT = 20.0  # exp(20) = 5e8: beyond it a float32 loss says nothing
LOW_VAR_LIMIT = 10.0


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """X where the mask is on, else 0 (a product would keep NaN and inf)."""
    return torch.where(mask > 0, x, torch.zeros((), dtype=x.dtype, device=x.device))


# -- surrogates ------------------------------------------------------------------------------------------------------


def ppo_clip_loss(
    ratio: Tensor, advantages: Tensor, low: float = 0.2, high: float = 0.2, dual: float | None = None
) -> Tensor:
    """-min(r A, clip(r, 1 - low, 1 + high) A): the clipped surrogate of PPO (arXiv 1707.06347) as a loss, elementwise.

    With `dual` = c > 1 a loss of a negative advantage is at most -c A (arXiv 1912.09729).
    """
    loss = torch.maximum(-ratio * advantages, -ratio.clamp(1 - low, 1 + high) * advantages)
    if dual is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -dual * advantages), loss)


def sequence_log_ratio(log_ratio: Tensor, mask: Tensor, *, normalize: bool = True) -> Tensor:
    """[N, 1] sum over a row's tokens of log pi - log pi_old, over its length if `normalize`; 0 for an empty row."""
    total = masked(log_ratio, mask).sum(-1, keepdim=True)
    return total / mask.sum(-1, keepdim=True).clamp_min(1) if normalize else total


def kl_estimate(logp: Tensor, logp_ref: Tensor, kind: KLKind = "k3") -> Tensor:
    """Per-token estimate of KL(pi || pi_ref) from tokens of pi, with x = logp - logp_ref.

    k1 = x, k2 = x^2 / 2, k3 = exp(-x) - 1 + x, abs = |x| (Schulman, "Approximating KL divergence", 2020). As a loss
    k1 has no expected gradient, k2 that of the reverse and k3 that of the forward KL. In the exponential -x is capped
    at 20. low_var is k3 cut off at 10, without gradient beyond (the default of verl and others).
    """
    x = logp - logp_ref
    if kind == "k1":
        return x
    if kind == "k2":
        return x.square() / 2
    if kind == "abs":
        return x.abs()
    if kind == "k3":
        return (-x).clamp_max(LOG_LIMIT).exp() - 1 + x
    if kind == "low_var":
        x = x.clamp(-LOG_LIMIT, LOG_LIMIT)
        return ((-x).exp() - 1 + x).clamp_max(LOW_VAR_LIMIT)
    msg = f"unknown KL estimator {kind!r}; choose k1, k2, k3, abs or low_var"
    raise ValueError(msg)


# -- weights of token losses -----------------------------------------------------------------------------------------


def token_mean_weights(mask: Tensor) -> Tensor:
    """Every token weighs the same: mask / number of tokens."""
    return mask / mask.sum().clamp_min(1)


def sequence_mean_weights(mask: Tensor) -> Tensor:
    """Mean over the tokens of a completion, then over the completions that have any."""
    lengths = mask.sum(-1, keepdim=True)
    return mask / lengths.clamp_min(1) / (lengths > 0).sum().clamp_min(1)


def sequence_sum_weights(mask: Tensor) -> Tensor:
    """Sum over the tokens of a completion, mean over the completions that have any."""
    return mask / (mask.sum(-1) > 0).sum().clamp_min(1)


def constant_weights(mask: Tensor, length: float, rows: int | None = None) -> Tensor:
    """Sum over all tokens / (completions x a constant length). `rows`: how many completions count, empty ones too."""
    return mask / (max(mask.shape[0] if rows is None else rows, 1) * length)


# -- returns ---------------------------------------------------------------------------------------------------------


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
    on = mask > 0
    factor = torch.where(on, torch.full_like(rewards, gamma), torch.ones_like(rewards))
    return masked(reverse_scan(masked(rewards, mask), factor), mask)


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


def whiten(x: Tensor, mask: Tensor, eps: float = 1e-8, *, correction: int = 1) -> Tensor:
    """(x - mean) / sqrt(var + eps) over all counted tokens of x [N, T], 0 elsewhere; 0 where all are equal."""
    flat, counts = x.expand_as(mask).reshape(-1), mask.reshape(-1) > 0
    every = Groups(torch.zeros(flat.shape[0], dtype=torch.long, device=x.device))
    std = every.std(flat, counts, correction=correction)
    return masked((every.center(flat, counts) * (std.square() + eps).rsqrt()).reshape(mask.shape), mask)


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
