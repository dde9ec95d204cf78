"""What lengths are worth: pieces of length rewards. Lengths are int or float [N]; results have their float dtype."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["cosine_between", "relative_brevity", "soft_overlong"]


def soft_overlong(lengths: Tensor, limit: float, buffer: float, *, floor: bool = True) -> Tensor:
    """0 up to limit - buffer, then linear down to -1 at the limit (arXiv 2503.14476), and -1 beyond it if `floor`.

    Without `floor` the line goes on beyond the limit (verl, AReaL). A buffer of 0 is no penalty.
    """
    lengths = _floats(lengths)
    if not buffer:
        return torch.zeros_like(lengths)
    excess = ((limit - buffer) - lengths) / buffer
    return excess.clamp(-1 if floor else None, 0)


def relative_brevity(groups: Groups, lengths: Tensor, where: Tensor | None = None) -> Tensor:
    """1/2 for the shortest of a group, -1/2 for the longest, linear between; 0 where all are equally long.

    (arXiv 2501.12599.) `where`: who sets the group's range; the others are placed on it too.
    """
    lengths = _floats(lengths)
    least = groups.min(lengths, where)
    span = groups.max(lengths, where) - least
    return torch.where(span > 0, 0.5 - (lengths - least) / torch.where(span > 0, span, 1), 0)


def cosine_between(share: Tensor, start: Tensor | float, end: Tensor | float) -> Tensor:
    """From `start` at share 0 to `end` at share 1 along half a cosine; constant outside."""
    return end + (start - end) * (1 + (math.pi * share.clamp(0, 1)).cos()) / 2


def _floats(lengths: Tensor) -> Tensor:
    return lengths if lengths.is_floating_point() else lengths.to(torch.get_default_dtype())
