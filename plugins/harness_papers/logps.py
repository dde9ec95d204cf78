"""The log-probabilities that completions were written with, for methods that look at them before the update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["mean_logp", "written_logp"]


def written_logp(batch: Batch) -> Tensor:
    """[N, T] at the step's starting weights where the loop has measured them, else the sampler's own."""
    return batch.logp_sampler if batch.logp_old is None else batch.logp_old


def mean_logp(batch: Batch) -> Tensor:
    """[N] their mean over the tokens of a completion; 0 for an empty one."""
    return batch.sequence_mean(written_logp(batch))
