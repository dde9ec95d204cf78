"""Reward columns by name, the task's verdict as a number, one reward in place of all others, and other weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["active", "column", "column_means", "in_order", "in_place", "reweighted", "verdict"]


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


def column_means(batch: Batch) -> dict[str, float]:
    """The mean of every column that counts, over the rows where it applies; without those where it never does."""
    means = batch.rewards.nanmean(0).tolist()
    found = zip(batch.reward_names, means, active(batch).tolist(), strict=True)
    return {name: mean for name, mean, counts in found if counts and mean == mean}  # noqa: PLR0124 - NaN is not itself


def in_order(batch: Batch, order: Sequence[str]) -> list[str]:
    """The columns that count: first those that `order` names, as it names them, then the others as they stand."""
    known = [name for name, counts in zip(batch.reward_names, active(batch).tolist(), strict=True) if counts]
    return [name for name in order if name in known] + [name for name in known if name not in order]


def reweighted(batch: Batch, weights: Mapping[str, float], *, relative: bool = False) -> Batch:
    """The batch with weights by name, 0 for those not named; `relative`: times the present ones, 1 for the others."""
    rest = 1.0 if relative else 0.0
    new = batch.reward_weights.new_tensor([weights.get(name, rest) for name in batch.reward_names])
    return batch.replace(reward_weights=batch.reward_weights * new if relative else new)
