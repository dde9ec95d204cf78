"""Cutting a batch into optimizer minibatches of whole groups."""

from __future__ import annotations

import torch
from torch import Tensor

from harness.batch import Batch
from harness.groups import Groups

__all__ = ["bundles", "split"]


def bundles(batch: Batch) -> Tensor:
    """[N] int: rows that share a group or a prompt, directly or through others, have one number.

    Numbers ascend with the prompts' places, whatever the order of the rows.
    """
    label = batch.prompt.clone()
    if batch.group_keys.dim() == 1 and torch.equal(batch.group_keys, batch.prompt):
        return Groups(label).index
    group, prompt = batch.groups.index, Groups(batch.prompt).index
    for _ in range(len(batch)):  # one round where groups lie within prompts or prompts within groups
        spread = _least(_least(label, group), prompt)
        if torch.equal(spread, label):
            break
        label = spread
    return Groups(label).index


def split(batch: Batch, count: int) -> list[Batch]:
    """At most `count` minibatches of about equal numbers of rows, whole bundles each, in the order of the prompts.

    The rows of a minibatch keep the batch's order. One minibatch is the batch itself.
    """
    if count <= 1 or len(batch) == 0:
        return [batch]
    bundle = bundles(batch)
    sizes = torch.bincount(bundle)
    middle = sizes.cumsum(0).to(torch.float64) - sizes / 2
    part = (middle * count / len(batch)).long().clamp_max(count - 1)[bundle]
    parts = [(part == i).nonzero()[:, 0] for i in range(count)]
    return [batch[rows] for rows in parts if len(rows)]


def _least(label: Tensor, index: Tensor) -> Tensor:
    """Every row gets the smallest label of its set."""
    lowest = torch.full((int(index.max()) + 1,), torch.iinfo(label.dtype).max, dtype=label.dtype, device=label.device)
    return lowest.scatter_reduce(0, index, label, "amin")[index]
