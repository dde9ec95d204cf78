"""Quark's medical alignment: rewards on the scale they had at the start, weighted by weakness, risk, redundancy."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness_papers.reward_columns import active, in_place

if TYPE_CHECKING:
    from harness import Batch


@method(name="quark-medical", paper="2602.11661", base="grpo(beta=0)", experimental=True)
class QuarkMedical:
    """Rewards are put on the scale they had under the starting policy, then weighted by weakness, risk and redundancy.

    x_k = (r_k - mu_k) / (sigma_k + eps), mu and sigma (n - 1) of the first step's batch, for good;
    w_k = max(0, 1 - mean_b(x_k) / target) risk_k (1 - mean_{j != k} max(0, corr_b(x_k, x_j))), scaled to sum K;
    R_i = sum_k w_k x_ik, in place of the task's columns.

    The first batch is written by the starting policy, so that no pass of a frozen copy is needed. risk: `priority` for
    the columns in `first`, 1 for the others (the paper puts safety before correctness before format). The columns are
    those with a weight, of which the sign counts. The weights are reconstructed; that normalisation is by the frozen
    reference, and what the three factors are, is the paper's.
    State: mu and sigma.
    Edge cases: sigma = 0 counts as 1; all weights 0 are all 1; a column that does not apply to a row adds nothing.
    Source: arXiv 2602.11661, the abstract and a summary. Confidence: abstract (reconstructed).
    """

    target: float = 1.0
    first: tuple[str, ...] = ("correct", "all_passed")
    priority: float = 2.0
    eps: float = 1e-6

    @hookimpl
    def start(self) -> None:
        """Nothing measured."""
        self.mean: Tensor | None = None  # [K] under the starting policy
        self.std: Tensor | None = None

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The weighted sum of the frozen z-scores."""
        batch = yield
        everyone = Groups(torch.zeros_like(batch.prompt))
        if self.mean is None or self.std is None:
            self.mean = everyone.mean(batch.rewards, expand=False)[0].detach()
            self.std = everyone.std(batch.rewards, expand=False)[0].detach()
        scaled = self.scaled(batch.rewards) * batch.reward_weights.sign()
        reward = (scaled.nan_to_num() * self._weights(batch, scaled, everyone)).sum(1)
        return in_place(batch, "aligned", reward)

    def scaled(self, rewards: Tensor) -> Tensor:
        """[N, K] rewards on the scale that they had under the starting policy, once that is measured."""
        if self.mean is None or self.std is None:
            return rewards
        mean, std = self.mean.to(rewards), self.std.to(rewards)
        return (rewards - mean) / torch.where(std > 0, std + self.eps, 1)

    def _weights(self, batch: Batch, scaled: Tensor, everyone: Groups) -> Tensor:
        """[K] of the three factors, 0 for columns without a weight."""
        counted = active(batch).to(scaled.dtype)
        weak = (1 - scaled.nanmean(0).nan_to_num() / self.target).clamp_min(0)
        risk = scaled.new_tensor([self.priority if name in self.first else 1 for name in batch.reward_names])
        unit = everyone.standardize(scaled, eps=0.0, correction=0)
        alike = (unit.T @ unit / max(len(batch), 1)).clamp(0, 1) * counted
        alike = alike - alike.diagonal().diag()
        redundant = alike.sum(1) / (counted.sum() - 1).clamp_min(1)
        weights = counted * weak * risk * (1 - redundant)
        total = weights.sum()
        return torch.where(total > 0, weights * counted.sum() / torch.where(total > 0, total, 1), counted)
