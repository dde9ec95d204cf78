"""max@k: the best of k, also for completions of an older policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import best_without, choose, sequence_log_ratio, table

if TYPE_CHECKING:
    from harness import Batch, Groups, PolicyOutput

BASELINES = ("loo-1", "group", "none")


@method(name="maxk", paper="2510.23393", base="reinforce", scope="group")
class MaxK:
    """The unbiased gradient of the best of k, with a first-order correction for completions of an older policy.

    Rewards sorted upwards, ranks 1 .. n. r_i = sum_j w_ij R_j / C(n, k), w_ii = C(i-1, k-1), w_ij = C(j-2, k-2) for
    j > i: the share of i in the mean over all k-subsets of their best. Off-policy, with d_i = pi / pi_old - 1 of whole
    completions (detached): w_ii = C(i-1, k-1) (1 + d_i) + C(i-2, k-2) sum_{l<i} d_l,
    w_ij = C(j-2, k-2) (1 + d_i + d_j) + C(j-3, k-3) sum_{l<j, l/=i} d_l.  Token loss -n (r_i - b_i) logp.

    baseline: "loo-1" subtracts the best of the same subsets without i, times 1 + d_i so that it adds nothing on average
    off-policy either ("group": the z-score of r, the paper's "BoN mean", + eps; "none"). k: at most the group's size.
    The paper's runs have a KL weight of 0.01 as well (`maxk+kl(beta=0.01)`), and three passes over a batch.
    Edge cases: d = 0 is PKPO; equal rewards and groups of one give 0 ("none": c k).
    Source: arXiv 2510.23393, formulas checked against all subsets. Confidence: paper (k in training not found).
    """

    k: int = 4
    baseline: Literal["loo-1", "group", "none"] = "loo-1"
    eps: float = 1e-6

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.k < 1 or self.baseline not in BASELINES:
            msg = f"maxk(k={self.k}, baseline={self.baseline!r}): k >= 1, baseline one of {', '.join(BASELINES)}"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The on-policy part."""
        groups, size = batch.groups, batch.groups.count()
        reward = batch.reward if self.baseline == "none" else batch.reward - groups.min(batch.reward)
        share = self._share(groups, reward, torch.zeros_like(reward)) * size
        if self.baseline == "group":
            return groups.standardize(share, eps=self.eps)
        if self.baseline == "none":
            return share
        return share - self._baseline(groups, reward)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss, corrected for how far the policy has moved."""
        assert batch.advantages is not None
        ratio = sequence_log_ratio(output.log_ratio.detach(), batch.mask, normalize=False)[:, 0]
        moved = ratio.clamp(-20, 20).expm1().to(batch.rewards.dtype)
        reward, still = batch.reward, torch.zeros_like(moved)
        step = self._share(batch.groups, reward, moved) - self._share(batch.groups, reward, still)
        step = step * batch.groups.count()
        if self.baseline == "loo-1":
            step = step - moved * self._baseline(batch.groups, reward)
        correction = step.to(output.logp.dtype)
        return -(batch.advantages + correction[:, None]) * output.logp

    def _baseline(self, groups: Groups, reward: Tensor) -> Tensor:
        """[N] n b_i, of the others alone: k times the mean best of their (k - 1)-subsets, their mean where k is 1."""
        k = groups.count().clamp_max(self.k)
        rest = best_without(groups, reward, (k - 1).clamp_min(1)) * k
        return torch.where(k > 1, rest, groups.leave_one_out_mean(reward))

    def _share(self, groups: Groups, reward: Tensor, moved: Tensor) -> Tensor:
        """[N] r_i."""
        place = groups.rank(reward)
        values, shift = (table(groups, x.double(), place) for x in (reward, moved))
        order = torch.arange(1, values.shape[1] + 1, device=reward.device)
        size = groups.count()[groups.first][:, None].double()
        k = size.clamp_max(self.k)
        one, two, three = choose(order - 1, k - 1), choose(order - 2, k - 2), choose(order - 3, k - 3)
        before = shift.cumsum(1) - shift
        own = (one * (1 + shift) + two * before) * values
        above = _above((two * (1 + shift) + three * before) * values) + shift * _above((two - three) * values)
        return ((own + above) / choose(size, k))[groups.index, place].to(reward.dtype)


def _above(x: Tensor) -> Tensor:
    """Sums over what comes later in a row."""
    return x.flip(1).cumsum(1).flip(1) - x
