"""What a step comes to before its update, as tensors that can be compared."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.conformance.probe_batch import TAG

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["Outcome", "keys_of", "shown"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a step came to, before its update. `rows` are tensors of N rows in an order of their own; all detached.

    Gradients are named `gradient:logp`, `gradient:entropy`, ...
    """

    rows: dict[str, Tensor]
    loss: float
    regularizers: float
    keys: tuple[Any, ...]

    @property
    def gradients(self) -> dict[str, Tensor]:
        return {name: x for name, x in self.rows.items() if name.startswith("gradient:")}

    @property
    def acts(self) -> bool:
        """Whether any token has a gradient."""
        return any(bool(x.any()) for x in self.gradients.values())


def shown(batch: Batch) -> dict[str, Tensor]:
    """The tensors of an outcome that are no gradient."""
    assert batch.advantages is not None
    assert batch.weights is not None
    advantages = torch.where(batch.mask > 0, batch.advantages.expand(batch.mask.shape), torch.zeros_like(batch.mask))
    return {"reward": batch.reward, "mask": batch.mask, "advantages": advantages, "weights": batch.weights}


def keys_of(batch: Batch) -> list[tuple[Any, ...]]:
    """What tells rows apart, whatever their order and the numbers of their groups."""
    tags = batch.extras.get(TAG, torch.zeros_like(batch.prompt))
    numbers = torch.stack([tags, batch.age, batch.rollout, batch.lengths], 1).tolist()
    keys = (record.key for record in batch.prompts)
    return [
        (tag, key, age, rollout, tuple(ids[:length]))
        for (tag, age, rollout, length), key, ids in zip(numbers, keys, batch.completion_ids.tolist(), strict=True)
    ]
