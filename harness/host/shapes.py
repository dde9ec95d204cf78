"""The parts that contracts are made of: each gives its value back, or raises `Breach` with what was expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["Breach", "describe", "detached", "finite", "floats", "mapping", "tensor"]


class Breach(Exception):  # noqa: N818 - not an error of its own: the caller turns it into one that names the plugin
    """A value that breaks a contract: what was expected and what came."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, got {actual}")


def describe(value: Any) -> str:
    """`float32 tensor [3, 4]`, `dict`, `None`, ..."""
    if isinstance(value, Tensor):
        where = "" if value.device.type == "cpu" else f" on {value.device}"
        grad = " that carries gradients" if value.requires_grad else ""
        return f"{str(value.dtype).removeprefix('torch.')} tensor {list(value.shape)}{where}{grad}"
    if value is None:
        return "None"
    if isinstance(value, str | int | float | bool):
        return f"{type(value).__name__} {value!r}"
    return f"{type(value).__name__} of length {len(value)}" if isinstance(value, Sequence) else type(value).__name__


def tensor(value: Any, expected: str, shapes: Iterable[Sequence[int]], device: torch.device) -> Tensor:
    if not isinstance(value, Tensor) or tuple(value.shape) not in {tuple(shape) for shape in shapes}:
        raise Breach(expected, describe(value))
    if value.device != device:
        raise Breach(f"{expected} on {device}", describe(value) + (" on cpu" if value.device.type == "cpu" else ""))
    return value


def floats(value: Tensor, expected: str, mask: Tensor, *others: torch.dtype) -> Tensor:
    """The tensor in the dtype of the mask, which is that of the log-probabilities."""
    if value.dtype == mask.dtype:
        return value
    if value.dtype in others:
        return value.to(mask.dtype)
    raise Breach(f"{expected} of {str(mask.dtype).removeprefix('torch.')}", describe(value))


def detached(value: Tensor, expected: str) -> Tensor:
    if value.requires_grad:
        raise Breach(f"{expected}, detached", describe(value))
    return value


def finite(value: Tensor, mask: Tensor, expected: str) -> Tensor:
    """The tensor [N, 1] or [N, T], 0 in place of what is not finite at masked-out places; one reduction if all is."""
    if math.isfinite(value.detach().sum()):
        return value
    counts = mask > 0 if value.shape == mask.shape else (mask > 0).any(-1, keepdim=True)
    bad = ~value.detach().isfinite() & counts
    if bad.any():
        row, column = bad.nonzero()[0].tolist()
        place = f"row {row}" if value.shape[1] == 1 != mask.shape[1] else f"row {row}, token {column}"
        raise Breach(f"{expected}, finite where the mask is 1", f"{float(value.detach()[row, column])} at {place}")
    return torch.where(counts, value, torch.zeros_like(value))


def mapping(value: Any, expected: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise Breach(expected, describe(value))
    return value
