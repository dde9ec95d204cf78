"""What a completion gets that has no sibling to be compared with: the one place where methods decide it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from harness.errors import PluginError
from harness.groups import Groups

__all__ = ["Single", "check_single", "with_singles"]

Single = Literal["zero", "raw"]


def check_single(single: str, owner: str) -> None:
    """Raise PluginError for a value that is neither "zero" nor "raw"."""
    if single not in {"zero", "raw"}:
        raise PluginError(f"{owner}(single={single!r}): choose 'zero' or 'raw'")


def with_singles(advantages: Tensor, raw: Tensor, groups: Groups, single: str = "zero") -> Tensor:
    """Advantages [N] (or [N, K]), with `raw` of the same shape for rows that are alone in their group.

    single: "zero" leaves what the method gives, 0 as there is nothing to compare with; "raw" is what verl's loops
    do, which take mean 0 and std 1 there, so that the row keeps its reward. A NaN stays as it was.
    """
    if single == "zero":
        return advantages
    alone = groups.count() == 1
    alone = alone.reshape(-1, *[1] * (advantages.dim() - 1)) & ~raw.isnan()
    return torch.where(alone, raw.to(advantages.dtype), advantages)
