"""Sampling divided over ranks: every rank writes its share of the completions, and all receive all of them.

A completion's noise is keyed by its prompt and its number, so its text does not depend on who writes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from harness.distributed.world import World
    from harness.policies.rollouts import Request, Rollouts

__all__ = ["divided", "share"]

ROWS = (
    "index", "rollout", "prompt_ids", "prompt_mask", "completion_ids", "mask", "logp", "lengths", "truncated",
    "temperature", "generated", "entropy",
)  # fmt: skip


def divided(
    world: World, requests: Sequence[Request], sample: Callable[[list[Request]], Rollouts], pad: int
) -> Rollouts:
    """The completions of all requests, in order, of which this rank samples its share; `pad` fills token ids."""
    part = sample(share(requests, world.rank, world.size))
    mine: dict[str, Any] = {name: value.cpu() for name in ROWS if (value := getattr(part, name)) is not None}
    parts = world.gather({**mine, "texts": part.texts})
    device = part.lengths.device
    joined = {name: _cat([found[name] for found in parts], pad * (name == "completion_ids")) for name in mine}
    texts = tuple(text for found in parts for text in found["texts"])
    whole: dict[str, Any] = {name: value.to(device) for name, value in joined.items()}
    return dataclasses.replace(part, requests=tuple(requests), texts=texts, **whole)


def share(requests: Sequence[Request], rank: int, size: int) -> list[Request]:
    """Every request, asking for those of its completions that are this rank's: about equal numbers, in a row."""
    total = sum(request.n for request in requests)
    start, stop = total * rank // size, total * (rank + 1) // size
    found, at = [], 0
    for request in requests:
        low, high = max(start, at), min(stop, at + request.n)
        count = max(0, high - low)
        first = request.first_rollout + (low - at if count else 0)
        found.append(dataclasses.replace(request, n=count, first_rollout=first))
        at += request.n
    return found


def _cat(parts: Sequence[Tensor], fill: int) -> Tensor:
    """Rows under one another, filled up behind to the widest."""
    if parts[0].dim() == 1:
        return torch.cat(list(parts))
    width = max(part.shape[1] for part in parts)
    return torch.cat([functional.pad(part, (0, width - part.shape[1]), value=fill) for part in parts])
