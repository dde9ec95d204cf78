"""Comparing outcomes: what differs, by how much, and where."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from harness.conformance.outcome import Outcome
from harness.errors import CheckFailed

__all__ = ["apart", "differences", "require_equal"]


def apart(a: Tensor, b: Tensor) -> float:
    """The largest difference relative to the largest entry; inf where the shapes differ."""
    if a.shape != b.shape:
        return float("inf")
    scale = max(float(a.abs().max()), float(b.abs().max())) if a.numel() else 0.0
    return float((a - b).abs().max()) / scale if scale else 0.0


def differences(a: Outcome, b: Outcome, tolerance: float, names: Iterable[str] | None = None) -> dict[str, str]:
    """{what: how it differs} of two outcomes whose rows correspond; empty where they agree within the tolerance.

    Token tensors are compared on the narrower of the two widths: beyond it both must be 0.
    """
    if a.keys != b.keys:
        return {"rows": f"{len(a.keys)} rows against {len(b.keys)}, or other ones"}
    found = {}
    for name in names or a.rows.keys() | b.rows.keys():
        one, other = a.rows.get(name), b.rows.get(name)
        if one is None or other is None:
            present = other if one is None else one
            if present is not None and bool(present.any()):
                found[name] = "in one of the two only"
            continue
        said = _difference(one, other, tolerance)
        if said:
            found[name] = said
    return found


def require_equal(a: Outcome, b: Outcome, tolerance: float, said: str) -> float:
    """Raise CheckFailed saying what differs; the largest relative difference otherwise."""
    found = differences(a, b, tolerance)
    if found:
        name = next(name for name in ("rows", "reward", "mask", "advantages", "weights", *found) if name in found)
        raise CheckFailed(f"{said}: {name} differs, {found[name]}")
    return max((apart(*_aligned(a.rows[name], b.rows[name])) for name in a.rows if name in b.rows), default=0.0)


def _aligned(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of the two widths, 0 beyond their own."""
    if one.dim() < 2 or one.dim() != other.dim() or one.shape[1] == other.shape[1]:
        return one, other
    width = max(one.shape[1], other.shape[1])
    return tuple(torch.cat([x, x.new_zeros(x.shape[0], width - x.shape[1], *x.shape[2:])], 1) for x in (one, other))  # type: ignore[return-value]


def _difference(one: Tensor, other: Tensor, tolerance: float) -> str | None:
    one, other = _aligned(one, other)
    if one.shape != other.shape:
        return f"shape {list(one.shape)} against {list(other.shape)}"
    if apart(one, other) <= tolerance:
        return None
    gap = (one - other).abs()
    place = tuple(int(i) for i in torch.unravel_index(gap.argmax(), gap.shape))
    return f"{float(one[place]):.9g} against {float(other[place]):.9g} at {list(place)}"
