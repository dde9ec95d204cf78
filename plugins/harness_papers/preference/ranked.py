"""What preference objectives share: pairs by reward within a group, and what a completion scores in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn.functional import logsigmoid

from harness.mathematics import Pairs, pairs_within
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

__all__ = ["best_and_worst", "logistic", "ranked_pairs", "reference_gap"]


def ranked_pairs(batch: Batch, kind: str, margin: float = 0.0) -> Pairs:
    """The pairs of the rows that train, the better rewarded first; ties are none. `kind`: see `pairs_within`.

    margin: pairs whose rewards differ by less are none either.
    """
    pairs = pairs_within(batch.groups, batch.reward, counted(batch), kind)
    return pairs.where(pairs.gap(batch.reward) >= margin, batch.groups) if margin else pairs


def best_and_worst(batch: Batch) -> Pairs:
    """The best against the worst of every group (each of them where several are equal)."""
    return ranked_pairs(batch, "extremes")


def reference_gap(batch: Batch, output: PolicyOutput, pairs: Pairs) -> Tensor:
    """[P] D_w - D_l, with D = sum_t (logp - logp_ref) of a completion."""
    return pairs.gap(completion_log_ratio(batch, output, "reference"))


def logistic(margin: Tensor, smoothing: float | Tensor = 0.0) -> Tensor:
    """-(1 - s) ln sigmoid(m) - s ln sigmoid(-m), elementwise: the cross-entropy with a label of 1 - s."""
    return -(1 - smoothing) * logsigmoid(margin) - smoothing * logsigmoid(-margin)
