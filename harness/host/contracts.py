"""What each hook must return: shapes, types, devices, finite numbers. Each check gives the value that goes on.

Those of hooks that receive a batch are in `batch_contracts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from harness.errors import UsageError
from harness.host import batch_contracts
from harness.host.shapes import Breach, describe, mapping, tensor
from harness.host.trained import Trained

__all__ = ["CHECKS", "NONE_ALLOWED"]

Arguments = Mapping[str, Any]

NONE_ALLOWED = frozenset({"start", "next_round", "end_step"})


def _start(value: Any, _: Arguments) -> Any:
    if value is not None:
        raise Breach("None (set attributes on self)", describe(value))
    return value


def _build(value: Any, _: Arguments) -> Any:
    for name, module in mapping(value, "{name: module or Trained(module)}").items():
        if not isinstance(module.module if isinstance(module, Trained) else module, nn.Module):
            raise Breach("{name: module or Trained(module)}", f"{name!r}: {describe(module)}")
    return value


def _select_prompts(value: Any, arguments: Arguments) -> Any:
    expected = "a list of prompt keys"
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Breach(expected, describe(value))
    for key in value:
        if not isinstance(key, str):
            raise Breach(expected, f"the element {describe(key)}")
        try:
            arguments["pool"].problem(key)
        except UsageError as error:
            raise Breach(f"{expected} of the pool", str(error)) from None
    return value


def _requests(value: Any, _: Arguments) -> Any:
    expected = "a list of requests (from state.request)"
    if value is None or isinstance(value, str) or not isinstance(value, Sequence):
        raise Breach(expected, describe(value))
    wrong = next((item for item in value if not hasattr(item, "n") or not hasattr(item, "key")), None)
    if wrong is not None:
        raise Breach(expected, f"the element {describe(wrong)}")
    return value


def _generate(value: Any, _: Arguments) -> Any:
    if not all(hasattr(value, name) for name in ("completion_ids", "mask", "logp", "requests")):
        raise Breach("Rollouts", describe(value))
    return value


def _score(value: Any, arguments: Arguments) -> Any:
    mask: Tensor = arguments["rollouts"].mask
    rows, tokens = mask.shape
    checked = {}
    for name, column in mapping(value, "{name: tensor [N] or [N, T]}").items():
        expected = f"the column {name!r} as float [{rows}] or [{rows}, {tokens}]"
        column = tensor(column, expected, ([rows], [rows, tokens]), mask.device)  # noqa: PLW2901
        if column.is_complex() or column.requires_grad:
            raise Breach(f"{expected}, detached", describe(column))
        column = column if column.is_floating_point() else column.float()  # noqa: PLW2901
        if column.isinf().any():
            raise Breach(f"{expected}, finite or NaN (does not apply)", "an infinite value")
        checked[name] = column
    return checked


def _next_round(value: Any, arguments: Arguments) -> Any:
    return None if value is None else _requests(value, arguments)


def _metrics(value: Any, _: Arguments) -> Any:
    if value is None:
        return None
    found = {}
    for name, number in mapping(value, "{name: number}").items():
        if isinstance(number, Tensor) and number.numel() == 1:
            found[name] = float(number.detach())
        elif isinstance(number, int | float):
            found[name] = float(number)
        else:
            raise Breach("{name: number}", f"{name!r}: {describe(number)}")
    return found


CHECKS: dict[str, Callable[[Any, Arguments], Any]] = {
    **batch_contracts.CHECKS,
    "start": _start,
    "build": _build,
    "select_prompts": _select_prompts,
    "allocate_rollouts": _requests,
    "generate": _generate,
    "score": _score,
    "next_round": _next_round,
    "update": _metrics,
    "end_step": _metrics,
}
