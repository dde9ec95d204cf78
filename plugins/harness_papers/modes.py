"""Whether a completion reasons before it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["reasons", "with_modes"]


def with_modes(rollouts: Any, direct: str) -> Any:
    """The rollouts with `extras["reasons"]` bool [M]: False for a text that begins with a character of `direct`.

    For a wrapper on `generate`; rollouts that have the extra already stay as they are.
    """
    if "reasons" in rollouts.extras:
        return rollouts
    found = torch.tensor(_reasons(rollouts.texts, direct), device=rollouts.mask.device)
    return rollouts.replace(extras={**rollouts.extras, "reasons": found})


def reasons(batch: Batch) -> Tensor:
    """[N] bool; without the extra, everyone does."""
    return batch.extras.get("reasons", torch.ones_like(batch.correct))


def _reasons(texts: Sequence[str], direct: str) -> list[bool]:
    return [text.strip()[:1] not in tuple(direct) for text in texts]
