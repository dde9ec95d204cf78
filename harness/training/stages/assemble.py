"""From sampled completions and their reward columns to a `Batch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.batch import Batch, PromptRecord

if TYPE_CHECKING:
    from harness.policies.rollouts import Rollouts
    from harness.training.context import Context

__all__ = ["assemble"]


def assemble(context: Context, rollouts: Rollouts, columns: Mapping[str, Tensor]) -> Batch:
    """One row a completion. Task columns come first, in the task's order; others follow with weight 1."""
    state, task = context.state, context.task
    mask = rollouts.mask
    requests = rollouts.requests
    index = rollouts.index
    places = torch.tensor([state.place(request.key) for request in requests], device=mask.device)[index]
    records = [_record(context, request.key) for request in requests]
    names = (*(name for name in task.columns if name in columns), *sorted(columns.keys() - set(task.columns)))
    token_columns = {name: columns[name] for name in names if columns[name].dim() == 2}
    outcome = [(x * mask).sum(-1) if (x := columns[name]).dim() == 2 else x for name in names]
    weights = [task.reward_weights.get(name, 1.0) for name in names]
    rewards = torch.stack(outcome, 1).to(mask.dtype) if names else mask.new_zeros(len(mask), 0)
    return Batch(
        prompt_ids=rollouts.prompt_ids,
        prompt_mask=rollouts.prompt_mask,
        completion_ids=rollouts.completion_ids,
        mask=mask,
        logp_sampler=rollouts.logp,
        prompt=places,
        rollout=rollouts.rollout,
        round=torch.full_like(places, state.round),
        age=torch.full_like(places, context.age),
        rewards=rewards,
        reward_names=names,
        reward_weights=torch.tensor(weights, dtype=rewards.dtype, device=mask.device),
        correct=task.correct(columns),
        lengths=rollouts.lengths,
        truncated=rollouts.truncated,
        temperature=rollouts.temperature,
        max_tokens=max((request.max_tokens for request in requests), default=0),
        prompts=tuple(records[i] for i in index.tolist()),
        group_keys=places,
        kept=torch.ones_like(places, dtype=torch.bool),
        token_columns=token_columns,
        extras=dict(rollouts.extras),
        entropy=rollouts.entropy if context.age == 0 else None,
    )


def _record(context: Context, key: str) -> PromptRecord:
    problem = context.state.pool.problem(key)
    return PromptRecord(key=key, text=problem.prompt, task=problem.task)
