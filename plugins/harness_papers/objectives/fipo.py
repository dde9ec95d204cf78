"""FIPO: a token weighs more where its own future has become likelier."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, reverse_scan

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

CALM = 0.8  # the least weight of what is held back


@method(name="fipo", paper="2603.19835", base="dapo", neutral={"clip": 0.0}, scope="group")
class FIPO:
    """A token's loss is weighted by how much likelier the policy has made what follows it since the batch was sampled.

    f_t = sum_{k >= t} g^(k - t) d_k with d = logp - logp_old and g = 2^(-1 / half_life), distances in tokens, masked
    ones included;  v_t = sg[clip(e^f_t, 1, 1 + clip)], or from 1 - clip without high_only;  where A < 0 and the ratio
    is above `safety`, v is held to [0.8, 1];  loss v times the loss below.

    clip: None leaves e^f as it is. ratio_limit: tokens with a larger ratio are left out of every f. safety: None is
    without. Edge cases: the first update of a batch has d = 0 and v = 1; the last token has its own d.
    Source: arXiv 2603.19835, ms-swift. Confidence: code.
    """

    half_life: float = 32.0
    clip: float | None = 0.2
    high_only: bool = True
    safety: float | None = 4.0
    ratio_limit: float | None = None

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, weighted."""
        losses = yield
        assert batch.advantages is not None
        return losses * self.influence(output.log_ratio, batch.advantages, batch.mask)

    def future(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """[N, T] f, without gradient, 0 where masked."""
        moved = masked(log_ratio.detach(), mask)
        if self.ratio_limit is not None:
            moved = torch.where(moved.exp() > self.ratio_limit, torch.zeros_like(moved), moved)
        return masked(reverse_scan(moved, torch.full_like(moved, 2 ** (-1 / self.half_life))), mask)

    def influence(self, log_ratio: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        """[N, T] the weights v."""
        weight = self.future(log_ratio, mask).clamp(-20.0, 20.0).exp()
        if self.clip is not None:
            weight = weight.clamp(1.0 if self.high_only else 1 - self.clip, 1 + self.clip)
        if self.safety is not None:
            wild = (advantages < 0) & (log_ratio.detach().exp() > self.safety)
            weight = torch.where(wild, weight.clamp(CALM, 1.0), weight)
        return weight
