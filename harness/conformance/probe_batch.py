"""The batch that checks look at: rows of a real step with rewards, old and reference log-probabilities of their own.

Everything is a function of a row's tag, which travels with it, so that no order, padding or selection changes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch
from harness.batching import pad_left, pad_right
from harness.conformance.task import GROUP

__all__ = [
    "TAG", "Edit", "cloned", "decorated", "noisy", "padded", "permuted", "rewarded", "tiled", "unchanged", "with_holes",
    "with_lengths",
]  # fmt: skip

Edit = Callable[[Batch], Batch]
TAG = "conformance_row"  # 1 to N on the rows of the probe; 0 on rows that a plugin adds


def unchanged(batch: Batch) -> Batch:
    """The batch."""
    return batch


def cloned(batch: Batch) -> Batch:
    """The batch with copies of all tensors."""

    def copy(x: Any) -> Any:
        if isinstance(x, Tensor):
            return x.clone()
        return {name: copy(item) for name, item in x.items()} if isinstance(x, Mapping) else x

    return batch.replace(**{field.name: copy(getattr(batch, field.name)) for field in dataclasses.fields(batch)})


def unit(batch: Batch, salt: int, *, per_token: bool = False) -> Tensor:
    """Numbers in [0, 1) that look random, by a row's tag: [N], or [N, T]."""
    row = batch.extras[TAG].to(torch.float64) * 12.9898 + batch.age * 37.719 + salt * 4.581
    if per_token:
        row = row[:, None] + torch.arange(batch.tokens, dtype=torch.float64) * 0.7391
    return (row.sin() * 43758.5453).frac().abs()


def decorated(batch: Batch) -> Batch:
    """One to three of four right in every group, qualities without ties, every row tagged."""
    right = (batch.rollout + batch.prompt + batch.round) % GROUP < 1 + batch.prompt % (GROUP - 1)
    batch = batch.with_extras(**{TAG: torch.arange(1, len(batch) + 1)})
    return rewarded(batch, right.to(torch.float64), unit(batch, 1))


def rewarded(batch: Batch, correct: Tensor, quality: Tensor) -> Batch:
    """The batch with the task's own two columns replaced; columns that plugins added stay."""
    rewards = batch.rewards.clone()
    for name, values in (("correct", correct), ("quality", quality)):
        rewards[:, batch.reward_names.index(name)] = values.to(rewards.dtype)
    return batch.replace(rewards=rewards, correct=torch.nan_to_num(correct) > 0.5)


def noisy(batch: Batch) -> Batch:
    """Old and reference log-probabilities off the policy's own, so that ratios leave the usual clip ranges."""
    assert batch.logp_old is not None
    shift = (unit(batch, 2, per_token=True) - 0.5) * 0.8 * batch.mask
    changes = {"logp_old": batch.logp_old + shift.to(batch.logp_old.dtype)}
    if batch.logp_ref is not None:
        away = (unit(batch, 3, per_token=True) - 0.5) * 0.6 * batch.mask
        changes["logp_ref"] = batch.logp_ref + away.to(batch.logp_ref.dtype)
    return batch.replace(**changes)


# -- changes that must not matter, or must only move rows ------------------------------------------------------------


def permuted(batch: Batch, seed: int) -> Batch:
    """Rows in another order, and the groups numbered in another order."""
    noise = torch.Generator().manual_seed(seed)
    renumbered = torch.randperm(int(batch.prompt.max()) + 1, generator=noise)[batch.prompt]
    return batch.replace(prompt=renumbered)[torch.randperm(len(batch), generator=noise)]


def padded(batch: Batch, columns: int = 3) -> Batch:
    """More padding: `columns` after the completions, as many before the prompts."""
    width = batch.tokens + columns
    per_token = {name: getattr(batch, name) for name in ("logp_old", "logp_ref", "entropy")}
    changes = {name: pad_right(x, width) for name, x in per_token.items() if x is not None}
    changes |= {name: pad_right(getattr(batch, name), width) for name in ("completion_ids", "mask", "logp_sampler")}
    prompts = batch.prompt_ids.shape[1] + columns
    changes |= {name: pad_left(getattr(batch, name), prompts) for name in ("prompt_ids", "prompt_mask")}
    wide = {name: x for name, x in batch.extras.items() if x.dim() > 1 and x.shape[1] == batch.tokens}
    extras = {**batch.extras, **{name: pad_right(x, width) for name, x in wide.items()}}
    tokens = {name: pad_right(x, width) for name, x in batch.token_columns.items()}
    return batch.replace(**changes, extras=extras, token_columns=tokens)


def tiled(batch: Batch, times: int) -> Batch:
    """The batch several times under itself, as other prompts."""
    step = int(batch.prompt.max()) + 1
    return Batch.cat([batch.replace(prompt=batch.prompt + i * step, group_keys=batch.prompt) for i in range(times)])


def with_lengths(batch: Batch, lengths: Tensor) -> Batch:
    """Completions cut to the given lengths [N]."""
    lengths = torch.minimum(lengths, batch.lengths)
    inside = torch.arange(batch.tokens) < lengths[:, None]
    return batch.replace(lengths=lengths, mask=batch.mask * inside, completion_ids=batch.completion_ids * inside)


def with_holes(batch: Batch) -> Batch:
    """Every third token was not written by the policy (an environment's, say)."""
    return batch.replace(mask=batch.mask * ((torch.arange(batch.tokens) % 3) != 1))
