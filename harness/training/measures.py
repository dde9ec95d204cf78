"""Numbers that the learner reports with every minibatch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["Diverged", "add_up", "clip_share", "finite"]

LARGEST = ("log_ratio_max",)  # reported as the largest over minibatches
SUMMED = ("tokens_trained",)


class Diverged(HarnessError):  # noqa: N818 - a way for a trial to end
    """A loss, a log-probability or a gradient stopped being finite: the trial ends with that status."""


def finite(logp: Tensor) -> None:
    """Raise Diverged if a log-probability is not finite: the weights are beyond use, no plugin is to blame."""
    if not math.isfinite(float(logp.detach().sum())):
        raise Diverged("the policy's log-probabilities are not finite; lower optimizer.lr")


def clip_share(batch: Batch, slope: Tensor | None) -> Tensor:
    """The share of trained tokens that have an advantage and a weight, and yet no gradient: clipped ones.

    `slope` [N, T] is the gradient of the policy objective, without regularizers, with respect to the log-probabilities.
    """
    if slope is None or batch.advantages is None:
        return batch.mask.new_zeros(())
    live = (batch.mask > 0) & (batch.advantages != 0)
    if batch.weights is not None:
        live = live & (batch.weights != 0)
    return (live & (slope == 0)).sum() / live.sum().clamp_min(1)


def add_up(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Metrics of several minibatches as one: means over trained tokens, the largest, or sums, by name.

    A minibatch without a metric does not count for it.
    """
    total: dict[str, float] = {}
    for name in dict.fromkeys(name for metrics in found for name in metrics):
        values = [(metrics[name], metrics.get("tokens_trained", 1.0)) for metrics in found if name in metrics]
        if name in LARGEST:
            total[name] = max(value for value, _ in values)
        elif name in SUMMED:
            total[name] = math.fsum(value for value, _ in values)
        else:
            weight = math.fsum(weight for _, weight in values)
            total[name] = math.fsum(value * weight for value, weight in values) / weight if weight else 0.0
    return total
