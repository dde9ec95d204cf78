"""Weights [N, T] of token losses: the ways to average them."""

from __future__ import annotations

from torch import Tensor

__all__ = ["constant_weights", "sequence_mean_weights", "sequence_sum_weights", "token_mean_weights"]


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
