"""What hooks that receive a batch must return: rows, shapes, dtypes, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch
from harness.host.shapes import Breach, describe, detached, finite, floats, mapping, tensor

__all__ = ["CHECKS", "check_extras"]

Arguments = Mapping[str, Any]


def _same_rows(value: Any, batch: Batch, expected: str) -> Batch:
    if not isinstance(value, Batch):
        raise Breach(expected, describe(value))
    if len(value) != len(batch):
        raise Breach(f"{expected} with its {len(batch)} rows", f"{len(value)} rows")
    return value


def _group_by(value: Any, arguments: Arguments) -> Any:
    batch: Batch = arguments["batch"]
    expected = f"integer keys [{len(batch)}] or [{len(batch)}, C]"
    shape = [len(batch), value.shape[1]] if isinstance(value, Tensor) and value.dim() == 2 else [len(batch)]
    value = tensor(value, expected, [shape], batch.device)
    if value.is_floating_point() or value.is_complex():
        raise Breach(expected, describe(value))
    return value.long()


def _choice(*, per_token: bool) -> Callable[[Any, Arguments], Any]:
    def check(value: Any, arguments: Arguments) -> Any:
        batch: Batch = arguments["batch"]
        shapes = [[len(batch)], [len(batch), batch.tokens]] if per_token else [[len(batch)]]
        expected = "bool " + " or ".join(map(str, shapes))
        value = tensor(value, expected, shapes, batch.device)
        if value.dtype != torch.bool:
            raise Breach(expected, describe(value))
        return value

    return check


def _augment(value: Any, arguments: Arguments) -> Any:
    expected = "the batch, with rows added"
    if not isinstance(value, Batch):
        raise Breach(expected, describe(value))
    if value.prompts is not None and len(value.prompts) != len(value):
        raise Breach(f"{expected}, and one prompt record a row", f"{len(value.prompts)} records for {len(value)} rows")
    if _turned(arguments["batch"], value):
        raise Breach("`correct` of the rows that stay: it is the task's verdict", "another one")
    return value


def _turned(before: Batch, after: Batch) -> bool:
    """Whether a completion in its old place, by its number, its prompt and its tokens, has another verdict."""
    rows, tokens = min(len(before), len(after)), min(before.tokens, after.tokens)
    same = torch.ones_like(before.correct[:rows])
    for name in ("prompt", "rollout", "round", "lengths"):
        same &= getattr(before, name)[:rows] == getattr(after, name)[:rows]
    same &= (before.completion_ids[:rows, :tokens] == after.completion_ids[:rows, :tokens]).all(1)
    return bool((same & (before.correct[:rows] != after.correct[:rows])).any())


def check_extras(batch: Batch, before: Mapping[str, Any]) -> dict[str, Any]:
    """The extras of a batch after a hook: tensors may have been added, none replaced or removed."""
    for name, extra in batch.extras.items():
        if name not in before:
            _extra(name, extra, batch)
    for name, extra in before.items():
        if batch.extras.get(name) is not extra:
            raise Breach("extras to be added, never overwritten", f"another batch.extras[{name!r}]")
    return dict(batch.extras)


def _extra(name: str, tensor: Any, batch: Batch) -> None:
    if not isinstance(tensor, Tensor) or tensor.shape[:1] != (len(batch),) or tensor.requires_grad:
        raise Breach(f"the extra {name!r} as a detached tensor with {len(batch)} rows", describe(tensor))


def _annotate(value: Any, arguments: Arguments) -> Any:
    batch: Batch = arguments["batch"]
    for name, extra in mapping(value, "{name: tensor}").items():
        _extra(name, extra, batch)
        if name in batch.extras:
            raise Breach("a name that batch.extras does not hold yet", repr(name))
    return value


def _shape_rewards(value: Any, arguments: Arguments) -> Any:
    batch: Batch = arguments["batch"]
    value = _same_rows(value, batch, "the batch with rewards changed")
    columns = len(value.reward_names)
    expected = f"rewards [{len(batch)}, {columns}] and {columns} weights for {columns} names"
    tensor(value.rewards, expected, [[len(batch), columns]], batch.device)
    tensor(value.reward_weights, expected, [[columns]], batch.device)
    detached(value.rewards, expected)
    if value.rewards.isinf().any():
        raise Breach("rewards that are finite or NaN (does not apply)", "an infinite value")
    if value.correct is not batch.correct and not torch.equal(value.correct, batch.correct):
        raise Breach("`correct` unchanged: it is the task's verdict", "another one")
    return value


def _estimate_advantages(value: Any, arguments: Arguments) -> Any:
    batch: Batch = arguments["batch"]
    rows = len(batch)
    expected = f"advantages [{rows}] or [{rows}, {batch.tokens}]"
    value = tensor(value, expected, ([rows], [rows, 1], [rows, batch.tokens]), batch.device)
    value = detached(floats(value, expected, batch.mask, batch.rewards.dtype), expected)
    return finite(value[:, None] if value.dim() == 1 else value, batch.mask, expected)


def _aggregate(value: Any, arguments: Arguments) -> Any:
    batch: Batch = arguments["batch"]
    expected = f"weights [{len(batch)}, {batch.tokens}]"
    value = tensor(value, expected, [batch.mask.shape], batch.device)
    value = detached(floats(value, expected, batch.mask, batch.rewards.dtype), expected)
    value = finite(value, batch.mask, expected)
    return torch.where(batch.mask > 0, value, torch.zeros_like(value))


def _policy_loss(value: Any, arguments: Arguments) -> Any:
    mask = arguments["batch"].mask
    expected = f"token losses {list(mask.shape)} or [{len(mask)}, 1]"
    value = floats(tensor(value, expected, (mask.shape, (len(mask), 1)), mask.device), expected, mask)
    return finite(value, mask, expected).expand(mask.shape)


def _loss(value: Any, arguments: Arguments) -> Any:
    mask = arguments["batch"].mask
    value = floats(tensor(value, "a scalar", [()], mask.device), "a scalar", mask)
    if not math.isfinite(value.detach()):
        raise Breach("a finite scalar", str(float(value.detach())))
    return value


def _regularize(value: Any, arguments: Arguments) -> Any:
    mask = arguments["batch"].mask
    expected = f"a scalar or terms {list(mask.shape)}"
    value = floats(tensor(value, expected, ((), mask.shape), mask.device), expected, mask)
    return _loss(value, arguments) if value.dim() == 0 else finite(value, mask, expected)


CHECKS: dict[str, Callable[[Any, Arguments], Any]] = {
    "group_by": _group_by,
    "keep": _choice(per_token=False),
    "augment": _augment,
    "annotate": _annotate,
    "shape_rewards": _shape_rewards,
    "estimate_advantages": _estimate_advantages,
    "train_on": _choice(per_token=True),
    "aggregate": _aggregate,
    "policy_loss": _policy_loss,
    "loss": _loss,
    "regularize": _regularize,
}
