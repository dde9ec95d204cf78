"""The policy as its own judge: what it is shown, and the second round in which it writes its judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["first_of_each", "judged_by_role", "rows_of_prompts", "text_of", "with_role"]


def text_of(batch: Batch, row: int, policy: Any) -> str:
    """A completion's text without its end token."""
    ids = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
    return str(policy.decode([token for token in ids if token not in policy.stop_ids]))


def rows_of_prompts(batch: Batch, where: Tensor) -> dict[str, list[int]]:
    """By the prompt's key, the rows in `where` (bool [N]), in the order of their rollout numbers."""
    found: dict[str, list[int]] = {}
    rows = where.nonzero()[:, 0]
    for row in rows[batch.rollout[rows].argsort(stable=True)].tolist():
        found.setdefault(batch.prompts[row].key, []).append(row)
    return found


def with_role(rollouts: Any, round: int) -> Any:  # noqa: A002 - the loop's word
    """The rollouts with `extras["role"]` int64 [M]: 0 in the first round, later the request's number at its prompt."""
    seen: dict[str, int] = {}
    places = []
    for request in rollouts.requests:
        seen[request.key] = seen.get(request.key, 0) + 1
        places.append(seen[request.key])
    role = torch.tensor(places, dtype=torch.long, device=rollouts.mask.device)[rollouts.index]
    return rollouts.replace(extras={**rollouts.extras, "role": role if round else torch.zeros_like(role)})


def judged_by_role(batch: Batch) -> Tensor:
    """[N] int64 the role, 0 for everyone who is no judge."""
    return batch.extras.get("role", torch.zeros_like(batch.prompt))


def first_of_each(batch: Batch, *wheres: Tensor) -> list[tuple[int, ...]]:
    """Of every prompt that has rows in all of the `wheres`: the first row, by rollout number, in each."""
    prompts, order = Groups(batch.prompt), batch.rollout.to(torch.float64)
    every = torch.stack([prompts.any(where) for where in wheres]).all(0)
    chosen = [(every & (prompts.rank(order, where) == 0)).nonzero()[:, 0] for where in wheres]
    sorted_rows: Sequence[Tensor] = [rows[batch.prompt[rows].argsort(stable=True)] for rows in chosen]
    return list(zip(*(rows.tolist() for rows in sorted_rows), strict=True))
