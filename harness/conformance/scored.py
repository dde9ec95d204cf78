"""Rewards of the probe's completions in another order or with more padding: what the hook `score` may not depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.batching import pad_left, pad_right
from harness.conformance.compare import apart
from harness.errors import CheckFailed
from harness.policies.rollouts import Rollouts

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

__all__ = ["require_same_scores", "turned", "wider"]

TOLERANCE = 1e-9


def require_same_scores(bench: Bench, change: Callable[[Rollouts], tuple[Rollouts, Tensor]], said: str) -> None:
    """Raise CheckFailed if a changed sample gets other rewards; nothing is asked where the plugin scores nothing.

    change: gives the sample and [M] the rows of the original that its rows are.
    """
    rehearsal = bench.rehearsal
    if "score" not in bench.subject.seat.info.hooks or rehearsal.rollouts is None:
        return
    moved, order = change(rehearsal.rollouts)
    with rehearsal.moment():
        before = rehearsal.hooks.score(rollouts=rehearsal.rollouts, task=rehearsal.context.task)
    with rehearsal.moment():
        after = rehearsal.hooks.score(rollouts=moved, task=rehearsal.context.task)
    if before.keys() != after.keys():
        raise CheckFailed(f"{said}: score gives the columns {', '.join(after)} instead of {', '.join(before)}")
    for name, column in before.items():
        expected, found = column[order], after[name]
        if column.dim() == 2:
            width = max(expected.shape[1], found.shape[1])
            inside = pad_right(rehearsal.rollouts.mask[order], width) > 0
            expected, found = (torch.where(inside, pad_right(x, width), 0.0) for x in (expected, found))
        missing = (expected.isnan() == found.isnan()).all()
        if not missing or apart(expected.nan_to_num(), found.nan_to_num()) > TOLERANCE:
            raise CheckFailed(f"{said}: score gives another column {name!r}")


def turned(rollouts: Rollouts) -> tuple[Rollouts, Tensor]:
    """The last request first; the completions of a request stay in their order."""
    last = len(rollouts.requests) - 1
    order = torch.argsort(last - rollouts.index, stable=True)
    rows = {
        name: x[order]
        for name in (
            "rollout", "prompt_ids", "prompt_mask", "completion_ids", "mask", "logp", "lengths", "truncated",
            "temperature", "generated", "entropy",
        )
        if (x := getattr(rollouts, name)) is not None
    }  # fmt: skip
    moved = rollouts.replace(
        requests=rollouts.requests[::-1],
        index=(last - rollouts.index)[order],
        texts=tuple(rollouts.texts[i] for i in order.tolist()),
        extras={name: x[order] for name, x in rollouts.extras.items()},
        **rows,
    )
    return moved, order


def wider(rollouts: Rollouts, columns: int = 3) -> tuple[Rollouts, Tensor]:
    """More padding after the completions and before the prompts."""
    tokens = rollouts.mask.shape[1]
    width = tokens + columns
    per_token = {
        name: pad_right(x, width)
        for name in ("completion_ids", "mask", "logp", "entropy")
        if (x := getattr(rollouts, name)) is not None
    }
    prompts = rollouts.prompt_ids.shape[1] + columns
    extras = {
        name: pad_right(x, width) if x.dim() > 1 and x.shape[1] == tokens else x for name, x in rollouts.extras.items()
    }
    padded = rollouts.replace(
        prompt_ids=pad_left(rollouts.prompt_ids, prompts),
        prompt_mask=pad_left(rollouts.prompt_mask, prompts),
        extras=extras,
        **per_token,
    )
    return padded, torch.arange(len(rollouts))
