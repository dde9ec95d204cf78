"""Completions of earlier steps, by prompt."""

from __future__ import annotations

import torch

from harness import Batch, Groups

__all__ = ["rank_of_newest", "remembered"]

_OF_THE_STEP = ("logp_old", "logp_ref", "entropy", "greedy_reward", "advantages", "weights")


def remembered(memory: list[Batch], fresh: Batch, size: int, step: int) -> list[Batch]:
    """The memory, a list of one batch or of none, with fresh rows added: the last `size` of every prompt stay.

    `age` counts from step 0 in it; what was measured in a step is forgotten.
    """
    if not len(fresh):
        return memory
    fresh = fresh.replace(age=fresh.age - step, extras={}, **dict.fromkeys(_OF_THE_STEP))
    grown = Batch.cat([*memory, fresh])
    return [grown[rank_of_newest(grown) < size]]


def rank_of_newest(batch: Batch) -> torch.Tensor:
    """[N] int64: 0 for the last row of every prompt, by the prompt's key, then backwards."""
    numbers: dict[str, int] = {}
    keys = torch.tensor([numbers.setdefault(record.key, len(numbers)) for record in batch.prompts], device=batch.device)
    return Groups(keys).rank(-torch.arange(len(batch), device=batch.device))
