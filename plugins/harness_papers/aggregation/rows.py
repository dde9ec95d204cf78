"""How many completions an average over completions divides by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["check_empty", "completions"]


def check_empty(empty: str, owner: str) -> None:
    """Raise PluginError for a value that is neither "skip" nor "count"."""
    if empty not in {"skip", "count"}:
        raise PluginError(f"{owner}(empty={empty!r}): choose 'skip' or 'count'")


def completions(batch: Batch, empty: str, rows: float | None = None) -> Tensor | float:
    """`rows` where it is given, else the completions that have tokens ("skip"), or empty ones too ("count")."""
    if rows is not None:
        return rows
    counted = (batch.mask > 0).any(-1) if empty == "skip" else batch.trains
    return counted.sum().clamp_min(1).to(batch.mask.dtype)
