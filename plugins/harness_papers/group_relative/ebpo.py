"""EBPO: empirical Bayes for the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method, standardize

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2602.05165", base="grpo(beta=0.001)")
class EBPO:
    """The group's mean is shrunk towards the mean of all rewards so far, the more the less groups differ.

    Over all steps, the present one included: mu and sigma2 the mean and variance of all rewards, tau2 the variance of
    the groups' means;  S = (sigma2 / G) / (sigma2 / G + tau2);  A_i = R_i - ((1 - S) mean_g(R) + S mu), then the
    z-score over the batch (n - 1, + eps).

    sigma2 is the total variance, and tau2 is not freed of sigma2 / G, on purpose.
    State: number, mean and squared distance of rewards and of group means, kept by Welford's update.
    Edge cases: an all-wrong group is pushed down and an all-right one up; a group of one is measured against mu by the
    share S; one group ever is all shrinkage (S = 1); no variance at all is none (S = 0) and gives 0.
    Source: arXiv 2602.05165. Confidence: paper.
    """

    eps: float = 1e-6

    @hookimpl
    def start(self) -> None:
        """Nothing seen."""
        self.rewards = torch.zeros(3, dtype=torch.float64)  # number, mean, sum of squared distances
        self.means = torch.zeros(3, dtype=torch.float64)
        self.shrinkage = 0.0

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The distance from the shrunken mean, whitened over the batch."""
        groups, reward = batch.groups, batch.reward
        means = groups.mean(reward)
        self.rewards = _with(self.rewards, reward)
        self.means = _with(self.means, groups.mean(reward, expand=False))
        own = _variance(self.rewards) / groups.count()
        total = own + _variance(self.means)
        shrink = torch.where(total > 0, own / torch.where(total > 0, total, 1.0), 0.0).to(reward.dtype)
        self.shrinkage = float(shrink.mean()) if len(shrink) else 0.0
        return standardize(reward - means + shrink * (means - float(self.rewards[1])), eps=self.eps)

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """The shrinkage of the step."""
        return {"shrinkage": self.shrinkage}


def _with(seen: Tensor, x: Tensor) -> Tensor:
    """(number, mean, sum of squared distances) after the values x as well (Chan's merge of two samples)."""
    fresh = x.detach().to("cpu", torch.float64)
    number, mean, square = seen
    count = number + len(fresh)
    if not len(fresh):
        return seen
    gap = fresh.mean() - mean
    inside = (fresh - fresh.mean()).square().sum() + gap.square() * number * len(fresh) / count
    return torch.stack([count, mean + gap * len(fresh) / count, square + inside])


def _variance(seen: Tensor) -> float:
    return float(seen[2] / (seen[0] - 1).clamp_min(1))
