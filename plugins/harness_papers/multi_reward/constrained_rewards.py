"""Constrained RLHF: rewards as constraints, whose multipliers fall once they pass their threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import masked
from harness_papers.reward_columns import active

if TYPE_CHECKING:
    from harness import Batch


@method(name="constrained-rewards", paper="2310.04373", base="grpo(beta=0)", needs={"reference"})
class ConstrainedRewards:
    """Each reward is a constraint, not a term to maximise: past its threshold its weight goes to staying close.

    A = (K - sum_k mu_k) z_g(-KL) + sum_k mu_k z_g(r_k), KL_i = sum_t logp_old - logp_ref, z = (x - mean) / (std + eps);
    mu = sigmoid(lam) for the kind "at least", tanh(lam) for "exactly";  each step lam descends
    sum_k mu_k (mean_b r_k - theta_k), so that mu_k falls where reward k is above theta_k.

    The rewards are the columns with a weight, whose size takes no part. thresholds: theta, one for all or one a column
    (found by experiment in the paper; ours is 0.8). dual_lr, momentum: of the multipliers' gradient descent. fixed:
    multipliers that never move. The paper has a value head for each reward and for the KL; z-scores within the group
    take their place here.
    State: the multipliers, and their momentum.
    Edge cases: mu starts at 1/2 (0 for "exactly"); a threshold out of reach drives mu to 1. Where rewards are equal the
    part of the KL is left: the group is drawn towards the reference. A group of one gives 0.
    Source: arXiv 2310.04373, the authors' code. Confidence: code (the form without critics is ours).
    """

    thresholds: tuple[float, ...] = (0.8,)
    kind: Literal["at least", "exactly"] = "at least"
    dual_lr: float = 0.01
    momentum: float = 0.1
    fixed: bool = False
    eps: float = 1e-8

    @hookimpl
    def start(self) -> None:
        """All multipliers at 0; they are numbered as the columns are when first met."""
        self.lam: Tensor | None = None
        self.velocity: Tensor | None = None
        self.gap: Tensor | None = None  # how far this step's means are above their thresholds

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The mixture of separate advantages."""
        if batch.logp_ref is None:
            msg = "constrained-rewards needs batch.logp_ref, the reference's log-probabilities"
            raise PluginError(msg)
        rewards = batch.rewards[:, active(batch)]
        self.gap = (rewards.nanmean(0).nan_to_num() - self._theta(rewards)).to(torch.float64).cpu()
        weights = self.multipliers(rewards.shape[1]).to(rewards)
        logp = batch.logp_sampler if batch.logp_old is None else batch.logp_old
        distance = masked(logp - batch.logp_ref, batch.mask).sum(-1)
        close = batch.groups.standardize(-distance, eps=self.eps)
        pull = batch.groups.standardize(rewards, eps=self.eps) @ weights
        return (len(weights) - weights.sum()) * close + pull

    @hookimpl
    def end_step(self) -> Mapping[str, float] | None:
        """Descend on the multipliers."""
        if self.gap is None:
            return None
        mu = self.multipliers(len(self.gap))
        slope = (mu * (1 - mu) if self.kind == "at least" else 1 - mu.square()) * self.gap
        assert self.lam is not None
        if not self.fixed:
            self.velocity = slope if self.velocity is None else self.momentum * self.velocity + slope
            self.lam = self.lam - self.dual_lr * self.velocity
        return {f"multiplier_{number}": value for number, value in enumerate(mu.tolist())}

    def multipliers(self, number: int) -> Tensor:
        """[K] mu."""
        if self.lam is None:
            self.lam = torch.zeros(number, dtype=torch.float64)
        return self.lam.sigmoid() if self.kind == "at least" else self.lam.tanh()

    def _theta(self, rewards: Tensor) -> Tensor:
        columns = rewards.shape[1]
        if len(self.thresholds) not in {1, columns}:
            msg = f"constrained-rewards(thresholds={self.thresholds}): the tasks have {columns} weighted columns"
            raise PluginError(msg)
        return rewards.new_tensor(self.thresholds).expand(columns)
