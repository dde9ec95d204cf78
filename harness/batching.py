"""Putting batches under one another: rounds, replayed rows, and what `augment` adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["cat", "pad_left", "pad_right"]

_FLAT = ("prompt", "rollout", "round", "age", "correct", "lengths", "truncated", "temperature", "kept")
_TOKENS = ("completion_ids", "mask", "logp_sampler")
_OPTIONAL_TOKENS = ("logp_old", "logp_ref", "entropy", "weights", "advantages")


def pad_right(x: Tensor, width: int, value: float = 0) -> Tensor:
    """X [N, T, ...] widened to [N, width, ...] with `value` after its tokens."""
    missing = width - x.shape[1]
    return torch.cat([x, x.new_full((x.shape[0], missing, *x.shape[2:]), value)], 1) if missing else x


def pad_left(x: Tensor, width: int, value: float = 0) -> Tensor:
    """X [N, P, ...] widened to [N, width, ...] with `value` before its tokens."""
    missing = width - x.shape[1]
    return torch.cat([x.new_full((x.shape[0], missing, *x.shape[2:]), value), x], 1) if missing else x


def cat(batches: Sequence[Batch]) -> Batch:
    """Rows of several batches in order, prompts left-padded and completions right-padded to the widest.

    Reward columns are united by name; a row without a column gets NaN there (it does not apply). Extras are united
    too: NaN, 0 or False for rows without. Optional fields (old log-probabilities, advantages ...) survive only where
    every batch has them. Raises ValueError for no batches, for weights of one column that differ, and for group keys
    or extras whose shapes cannot stand under one another.
    """
    if not batches:
        msg = "cat got no batches; give at least one"
        raise ValueError(msg)
    first, *_ = batches
    if len(batches) == 1:
        return first
    width = max(b.tokens for b in batches)
    prompt_width = max(b.prompt_ids.shape[1] for b in batches)
    changes: dict[str, Any] = {name: torch.cat([getattr(b, name) for b in batches]) for name in _FLAT}
    for name in ("prompt_ids", "prompt_mask"):
        changes[name] = torch.cat([pad_left(getattr(b, name), prompt_width) for b in batches])
    for name in _TOKENS:
        changes[name] = torch.cat([pad_right(getattr(b, name), width) for b in batches])
    for name in (*_OPTIONAL_TOKENS, "greedy_reward"):
        parts = [getattr(b, name) for b in batches]
        whole = all(part is not None for part in parts)
        changes[name] = _stack(name, batches, parts, width) if whole else None
    names = list(dict.fromkeys(name for b in batches for name in b.reward_names))
    extras = list(dict.fromkeys(name for b in batches for name in b.extras))
    token_columns = list(dict.fromkeys(name for b in batches for name in b.token_columns))
    return first.replace(
        **changes,
        rewards=torch.cat([_columns(b, names) for b in batches]),
        reward_names=tuple(names),
        reward_weights=_weights(batches, names),
        token_columns={name: _token_column(name, batches, width) for name in token_columns},
        extras={name: _stack(name, batches, [b.extras.get(name) for b in batches], width) for name in extras},
        group_keys=_group_keys(batches),
        prompts=tuple(record for b in batches for record in b.prompts),
        max_tokens=max(b.max_tokens for b in batches),
    )


def _columns(batch: Batch, names: list[str]) -> Tensor:
    """The batch's rewards [N, K] under the united names."""
    rewards = batch.rewards.new_full((len(batch), len(names)), float("nan"))
    rewards[:, [names.index(name) for name in batch.reward_names]] = batch.rewards
    return rewards


def _weights(batches: Sequence[Batch], names: list[str]) -> Tensor:
    found: dict[str, float] = {}
    for batch in batches:
        for name, weight in zip(batch.reward_names, batch.reward_weights.tolist(), strict=True):
            if found.setdefault(name, weight) != weight:
                msg = f"reward column {name!r} has weight {found[name]} in one batch and {weight} in another"
                raise ValueError(msg)
    return batches[0].reward_weights.new_tensor([found[name] for name in names])


def _token_column(name: str, batches: Sequence[Batch], width: int) -> Tensor:
    """A token column [N, width]; rows of a batch without it do not have the reward at all, so NaN."""
    for batch in batches:
        if name in batch.reward_names and name not in batch.token_columns:
            msg = f"reward column {name!r} is per token in one batch and per completion in another"
            raise ValueError(msg)
    nan = float("nan")
    parts = [
        pad_right(b.token_columns[name], width) if name in b.token_columns else b.rewards.new_full((len(b), width), nan)
        for b in batches
    ]
    return torch.cat(parts)


def _group_keys(batches: Sequence[Batch]) -> Tensor:
    shapes = {tuple(b.group_keys.shape[1:]) for b in batches}
    if len(shapes) > 1:
        msg = f"group keys have trailing shapes {sorted(shapes)}; they must agree"
        raise ValueError(msg)
    return torch.cat([b.group_keys for b in batches])


def _stack(name: str, batches: Sequence[Batch], parts: Sequence[Tensor | None], width: int) -> Tensor:
    """One named tensor of every batch; token tensors are padded, a missing part is NaN (0 where there is no NaN)."""
    known = next(part for part in parts if part is not None)
    held = [(b, part) for b, part in zip(batches, parts, strict=True) if part is not None]
    per_token = all(part.dim() > 1 and part.shape[1] == b.tokens for b, part in held)
    fill = float("nan") if known.is_floating_point() else 0
    rows = []
    for batch, part in zip(batches, parts, strict=True):
        if part is None:
            trailing = (width, *known.shape[2:]) if per_token else tuple(known.shape[1:])
            rows.append(known.new_full((len(batch), *trailing), fill))
        elif per_token:
            rows.append(pad_right(part, width))
        elif name == "advantages":  # [N, 1] beside [N, T]
            rows.append(pad_right(part.expand(-1, batch.tokens), width))
        else:
            rows.append(part)
    if len({tuple(row.shape[1:]) for row in rows}) > 1:
        msg = f"{name!r} has shapes {[tuple(row.shape) for row in rows]}; they cannot stand under one another"
        raise ValueError(msg)
    return torch.cat(rows)
