"""PKPO: every reward is replaced by its share in the unbiased estimate of the best of k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import best_without, subset_best

if TYPE_CHECKING:
    from harness import Batch

KINDS = ("plain", "loo", "loo-1")


@method(paper="2505.15201", base="reinforce", scope="group")
class PKPO:
    """Each completion gets its contribution to the unbiased estimate of the best of k samples.

    Sums over the k-subsets I of the group, C of them, by `kind`:
    "plain"  s_i = (1/C) sum_{I with i} max_I R;
    "loo"    s_i - (1/(G-1)) sum_{j != i} s_j of the group without i (needs G > k);
    "loo-1"  (1/C) sum_{I with i} (max_I R - max_{I without i} R) (recommended; k >= 2).
    A_i = G s_i, as the gradient is a sum over the group and losses here are means over completions.

    k: 2, 4 or 8 in the paper; at most the group's size (less one for "loo"). times_group: False gives s_i itself.
    Edge cases: equal rewards c give 0 with "loo-1", c k / G with "plain" and, as the formula has it, a little below 0
    with "loo"; "loo-1" is never negative, and for k = 1 it is RLOO's advantage over G; a group of one gives 0.
    Source: arXiv 2505.15201 by way of a re-implementation, checked against all subsets. Confidence: secondary.
    """

    k: int = 4
    kind: Literal["plain", "loo", "loo-1"] = "loo-1"
    times_group: bool = True

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.kind not in KINDS or self.k < 1:
            msg = f"pkpo(k={self.k}, kind={self.kind!r}): k must be positive and kind one of {', '.join(KINDS)}"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The transformed rewards."""
        groups, size = batch.groups, batch.groups.count()
        if self.kind == "plain":
            share = subset_best(groups, batch.reward, size.clamp_max(self.k))
        else:
            share = self._leave_one_out(batch) if self.kind == "loo" else self._marginal(batch)
        return share * size if self.times_group else share

    def _leave_one_out(self, batch: Batch) -> Tensor:
        size, reward = batch.groups.count(), batch.reward
        k = torch.minimum(torch.full_like(size, self.k), size - 1).clamp_min(1)
        others = best_without(batch.groups, reward, k) * k / (size - 1).clamp_min(1)
        return torch.where(size > 1, subset_best(batch.groups, reward, k) - others, torch.zeros_like(reward))

    def _marginal(self, batch: Batch) -> Tensor:
        size = batch.groups.count()
        # Blind to a shift: from the group's least on, equal rewards give exactly 0.
        reward = batch.reward - batch.groups.min(batch.reward)
        k = size.clamp_max(self.k)
        fewer = (k - 1).clamp_min(1)
        # Of all k - 1 of the others there are C(G-1, k-1) = C(G, k) k / G subsets.
        rest = best_without(batch.groups, reward, fewer) * k / size
        marginal = subset_best(batch.groups, reward, k) - rest
        return torch.where(k > 1, marginal, (reward - batch.groups.leave_one_out_mean(reward)) / size)
