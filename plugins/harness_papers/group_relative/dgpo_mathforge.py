"""DGPO: the same total update for every prompt, then more for the hard ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch

CLOSE = 1e-8  # a std below it counts as none, as in the authors' test


@method(name="dgpo-mathforge", paper="2601.20614", base="grpo(beta=0)")
class DGPOMathForge:
    """The mean absolute deviation as the scale gives every prompt the same update; then hard prompts get more of it.

    A_i = G (R_i - mean_g(R)) / (sum_j |R_j - mean_g(R)| + eps), times
    w = n softmax(-p / temperature) over the n groups with spread, p the mean of the first reward column (1 where it is
    0 and other columns differ), times tokens of the batch / tokens of those groups.  L = token mean.

    weights: False leaves the softmax out.
    Edge cases: equal rewards give 0 and leave the divisor; sum_i |A_i| = G before weighting; groups of one give 0.
    Source: the authors' code (MathForge). Confidence: code.
    """

    temperature: float = 2.0
    weights: bool = True
    eps: float = 1e-4

    def __post_init__(self) -> None:
        """Refuse a temperature that softmax cannot take."""
        if not self.temperature > 0:
            msg = f"dgpo-mathforge(temperature={self.temperature}): choose a positive number"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Scaled, weighted, made up for the tokens of groups without spread."""
        groups, apart = batch.groups, batch.groups.center(batch.reward)
        valid = groups.std(batch.reward, expand=False) > CLOSE
        spread = torch.where(valid[groups.index], groups.sum(apart.abs()), torch.ones_like(apart))
        scaled = groups.count() * apart / (spread + self.eps)
        lengths = batch.mask.sum(-1)
        ratio = lengths.sum() / (lengths * valid[groups.index]).sum().clamp_min(1)
        factor = torch.where(valid, self._difficulty(batch, valid) * ratio, torch.ones_like(ratio))
        return scaled * factor[groups.index]

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    def _difficulty(self, batch: Batch, valid: Tensor) -> Tensor:
        """[groups] weights with mean 1 over the valid ones."""
        if not self.weights or not bool(valid.any()):
            return torch.ones_like(valid, dtype=batch.rewards.dtype)
        rate = batch.groups.mean(batch.rewards[:, 0], expand=False)
        rate = torch.where(rate == 0, torch.ones_like(rate), rate)
        shown = torch.where(valid, -rate / self.temperature, torch.full_like(rate, -torch.inf))
        return valid.sum() * shown.softmax(0)
