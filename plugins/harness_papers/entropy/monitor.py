"""Entropies as the methods of this family read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.errors import PluginError
from harness.mathematics import masked

if TYPE_CHECKING:
    from harness import PolicyOutput

__all__ = ["covariance", "largest", "mean_entropy", "token_entropy"]


def token_entropy(owner: str, output: PolicyOutput) -> Tensor:
    """[N, T] the policy's entropies, 0 where masked. Raises PluginError where the loop did not compute them."""
    if output.entropy is None:
        raise PluginError(f"{owner} needs the policy's entropies; declare needs={{'entropy'}}")
    return masked(output.entropy, output.mask)


def mean_entropy(entropy: Tensor, mask: Tensor) -> Tensor:
    """The mean over counted tokens; 0 without any."""
    return masked(entropy, mask).sum() / mask.sum().clamp_min(1)


def covariance(advantages: Tensor, logp: Tensor, mask: Tensor) -> Tensor:
    """[N, T] (A - mean A)(logp - mean logp), means over the counted tokens; 0 elsewhere and without gradient."""
    count = mask.sum().clamp_min(1)
    advantages = advantages.expand_as(mask)
    apart = [x - masked(x, mask).sum() / count for x in (advantages, logp.detach())]
    return masked(apart[0] * apart[1], mask)


def largest(values: Tensor, where: Tensor, count: int) -> Tensor:
    """Bool of the shape of values: the `count` largest where `where` is true, all of them if they are fewer."""
    flat = torch.where(where, values, torch.full_like(values, -torch.inf)).reshape(-1)
    chosen = torch.zeros_like(flat, dtype=torch.bool)
    chosen[flat.topk(min(count, flat.numel())).indices] = True
    return chosen.reshape(values.shape) & where
