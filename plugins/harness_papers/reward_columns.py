"""Reward columns by name, the task's verdict as a number, and one reward in place of all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["active", "column", "in_place", "verdict"]


def verdict(batch: Batch) -> Tensor:
    """[N] 1 for correct, 0 for wrong completions."""
    return batch.correct.to(batch.rewards.dtype)


def column(batch: Batch, names: Sequence[str], owner: str) -> Tensor:
    """[N] the first of the named reward columns that the tasks have; NaN where it does not apply.

    Raises PluginError, naming `owner`, if they have none.
    """
    found = next((name for name in names if name in batch.reward_names), None)
    if found is None:
        wanted, known = " or ".join(map(repr, names)), ", ".join(batch.reward_names)
        raise PluginError(f"{owner}: the tasks have no reward column {wanted}, only {known}; name one of these")
    return batch.rewards[:, batch.reward_names.index(found)]


def active(batch: Batch) -> Tensor:
    """[K] bool: the columns that count, those whose weight is not 0."""
    return batch.reward_weights != 0


def in_place(batch: Batch, name: str, values: Tensor) -> Batch:
    """The batch with `values` [N] as its only reward; the other columns stay, with weight 0, to be logged."""
    added = batch.add_reward(name, values)
    weights = torch.zeros_like(added.reward_weights)
    weights[-1] = 1
    return added.replace(reward_weights=weights)
