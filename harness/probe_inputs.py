"""A `Batch` in float64 from plain lists and arrays, with neutral values in every field that is not given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.batch import Batch, PromptRecord
from harness.errors import UsageError
from harness.groups import Groups

__all__ = ["as_tensor", "plain_batch"]

_FLOATS = (
    "mask", "logp_sampler", "logp_old", "logp_ref", "entropy", "greedy_reward", "advantages", "temperature", "weights",
    "reward_weights",
)  # fmt: skip
_INTEGERS = ("lengths", "round", "age", "rollout", "prompt_ids", "completion_ids")
_BOOLEANS = ("correct", "truncated")
_ALIASES = {"logp_rollout": "logp_sampler", "logp_behave": "logp_sampler"}
_SHAPES = {
    **dict.fromkeys(("logp_old", "logp_ref", "logp_sampler", "entropy", "weights", "completion_ids"), ("N", "T")),
    **dict.fromkeys((*_BOOLEANS, "lengths", "round", "age", "rollout", "temperature", "greedy_reward"), ("N",)),
    "group_keys": ("N",), "rewards": ("N", "K"), "reward_weights": ("K",),
}  # fmt: skip
_TOKEN_TENSORS = ("logp", "logp_old", "logp_ref", "logp_sampler", "token_rewards", "entropy", "advantages")


def as_tensor(value: Any, name: str = "input") -> Tensor:
    """A float64 tensor; None becomes NaN. Raises UsageError, with the name, for what is no array of numbers."""
    try:
        return torch.as_tensor(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the probe's {name} is not an array of numbers: {error}") from None


def plain_batch(inputs: Mapping[str, Any]) -> Batch:
    """The batch of named inputs; names that are no field become extras. Raises UsageError for shapes that disagree."""
    given = {name: value for name, value in inputs.items() if value is not None}
    given |= {field: given[alias] for alias, field in _ALIASES.items() if alias in given and field not in given}
    names = given.pop("reward_names", None)
    max_tokens = given.pop("max_tokens", None)
    group = given.pop("group", None)
    mask = _mask(given)
    rows, tokens = mask.shape
    sizes = {"N": rows, "T": tokens}
    keys = torch.zeros(rows, dtype=torch.long) if group is None else _keys(group)
    _check("group", keys, ("N",), sizes)
    for name in ("logp", "token_rewards"):
        if name in given:
            _check(name, as_tensor(given[name], name), ("N", "T"), sizes)
    rewards, token_columns = _rewards(given.pop("rewards", None), given.pop("token_rewards", None), mask)
    given.pop("logp", None)
    fields = {name: as_tensor(given.pop(name), name) for name in _FLOATS if name in given}
    fields |= {name: as_tensor(given.pop(name), name).long() for name in _INTEGERS if name in given}
    fields |= {name: as_tensor(given.pop(name), name).bool() for name in _BOOLEANS if name in given}
    if "advantages" in fields and fields["advantages"].dim() == 1:
        fields["advantages"] = fields["advantages"][:, None]
    batch = Batch(
        **{**_neutral(mask, keys, rewards), **fields, "mask": mask},
        prompt=keys,
        group_keys=keys,
        rewards=rewards,
        reward_names=tuple(names or token_columns or map(str, range(rewards.shape[1]))),
        token_columns=token_columns,
        max_tokens=tokens if max_tokens is None else int(max_tokens),
        prompts=tuple(PromptRecord(str(key), "", "probe") for key in keys.tolist()),
        kept=torch.ones(rows, dtype=torch.bool),
        extras={name: _extra(name, value) for name, value in given.items()},
    )
    _agree(batch, sizes)
    return batch


def _extra(name: str, value: Any) -> Tensor:
    """A tensor of numbers or truth values as they are; strings become the numbers of the distinct ones."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and any(isinstance(item, str) for item in array.flat):
            array = array.astype(str)  # labels, some of which are missing
        if array.dtype.kind in "US":
            array = np.unique(array, return_inverse=True)[1].reshape(array.shape)
        return torch.as_tensor(array) if array.dtype.kind in "biu" else as_tensor(value, name)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the probe's {name} is not an array of numbers: {error}") from None


def _mask(given: Mapping[str, Any]) -> Tensor:
    """The mask, or what lengths or token tensors say of it, or one token a row."""
    if "mask" in given:
        mask = as_tensor(given["mask"], "mask")
        if mask.dim() != 2:
            raise UsageError(f"the probe's mask must be [N, T], a row of 0 and 1 a completion, not {list(mask.shape)}")
        return mask
    if "lengths" in given:
        lengths = as_tensor(given["lengths"], "lengths")
        return (torch.arange(int(lengths.max())) < lengths[:, None]).double()
    for name in _TOKEN_TENSORS:
        if name in given and (values := as_tensor(given[name], name)).dim() == 2:
            return torch.ones_like(values)
    rows = next((len(given[name]) for name in ("rewards", "advantages") if name in given), None)
    if rows is None:
        raise UsageError("the probe needs rewards, a mask or log-probabilities to know how many rows there are")
    return torch.ones(rows, 1, dtype=torch.float64)


def _keys(group: Any) -> Tensor:
    """[N] the number of the group of every row, whatever the ids are."""
    return torch.as_tensor(np.unique(np.asarray(group), return_inverse=True)[1].reshape(-1))


def _rewards(rewards: Any, token_rewards: Any, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """(columns [N, K], token columns): token rewards are one column of their own in place of the others."""
    if token_rewards is not None:
        per_token = as_tensor(token_rewards, "token_rewards")
        return torch.where(mask > 0, per_token, torch.zeros_like(mask)).sum(-1, keepdim=True), {"token": per_token}
    columns = torch.zeros(len(mask), 1, dtype=mask.dtype) if rewards is None else as_tensor(rewards, "rewards")
    return columns[:, None] if columns.dim() == 1 else columns, {}


def _neutral(mask: Tensor, keys: Tensor, rewards: Tensor) -> dict[str, Tensor]:
    """What a field holds when nobody gave it."""
    rows = len(mask)
    zeros = torch.zeros(rows, dtype=torch.long)
    return {
        "prompt_ids": zeros[:, None],
        "prompt_mask": torch.ones_like(zeros)[:, None],
        "completion_ids": torch.zeros_like(mask, dtype=torch.long),
        "logp_sampler": torch.zeros_like(mask),
        "rollout": Groups(keys).rank(torch.arange(rows, dtype=mask.dtype)),
        "round": zeros,
        "age": zeros,
        "lengths": (mask > 0).sum(-1),
        "truncated": torch.zeros(rows, dtype=torch.bool),
        "temperature": torch.ones(rows, dtype=mask.dtype),
        "reward_weights": torch.ones(rewards.shape[1], dtype=mask.dtype),
        "correct": rewards[:, 0] > 0.5,
    }


def _agree(batch: Batch, sizes: Mapping[str, int]) -> None:
    """Raise UsageError for the first field of another shape than its own."""
    sizes = {**sizes, "K": len(batch.reward_names)}
    for name, shape in _SHAPES.items():
        value = getattr(batch, name)
        if value is not None:
            _check(name, value, shape, sizes)
    if batch.advantages is not None and batch.advantages.shape != (sizes["N"], 1):
        _check("advantages", batch.advantages, ("N", "T"), sizes)


def _check(name: str, value: Tensor, shape: tuple[str, ...], sizes: Mapping[str, int]) -> None:
    wanted = [sizes[axis] for axis in shape]
    if list(value.shape) != wanted:
        raise UsageError(f"the probe's {name} must be [{', '.join(shape)}] = {wanted}, not {list(value.shape)}")
