"""What objectives over whole groups share: who counts, and a completion's log-ratio as one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.errors import PluginError
from harness.mathematics import log_sum_exp, sequence_log_ratio
from harness_papers.off_policy.behaviour import behaviour_logp

if TYPE_CHECKING:
    from harness import Batch, Groups, PolicyOutput

__all__ = ["anchor_of", "completion_log_ratio", "counted", "log_shares"]


def counted(batch: Batch) -> Tensor:
    """[N] bool: rows that `train_on` left in and that have a reward; completions of length 0 count."""
    return batch.trains & ~batch.rewards.isnan().all(-1)


def anchor_of(batch: Batch, output: PolicyOutput, name: str) -> Tensor:
    """[N, T] log-probabilities of the policy that a KL term starts from: "old", "reference" or "sampler".

    Raises PluginError for another name, and where the reference was not asked for.
    """
    if name == "old":
        return output.logp_old
    if name == "sampler":
        return behaviour_logp(batch, output)
    if name != "reference":
        raise PluginError(f"anchor={name!r}: choose old, reference or sampler")
    if batch.logp_ref is None:
        raise PluginError("the reference's log-probabilities are missing; declare needs={'reference'}")
    return batch.logp_ref


def completion_log_ratio(batch: Batch, output: PolicyOutput, name: str, *, normalize: bool = False) -> Tensor:
    """[N] sum over a completion's tokens (mean if `normalize`) of logp - anchor, with gradient; 0 for an empty one."""
    gap = output.logp - anchor_of(batch, output, name)
    return sequence_log_ratio(gap, batch.mask, normalize=normalize)[:, 0]


def log_shares(groups: Groups, x: Tensor, who: Tensor) -> Tensor:
    """[N] ln softmax of x within the group, over the rows that count and with gradient; 0 for the others."""
    # By selection: beside the sum of the others, a row that does not count may be as large as it likes.
    return torch.where(who, x - log_sum_exp(groups, x, who)[groups.index], torch.zeros_like(x))
