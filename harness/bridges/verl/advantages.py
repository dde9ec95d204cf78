"""A stack as verl's advantage estimator, which the driver calls once a step on the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.batch import Batch
from harness.bridges.rows import make_batch
from harness.bridges.state import BridgeState
from harness.errors import HarnessError

__all__ = ["Advantages"]


class Advantages:
    """What verl calls. Every call is a step of `state`."""

    def __init__(self, hooks: Any, state: BridgeState, max_tokens: int, correct_above: float) -> None:
        self.hooks = hooks
        self.state = state
        self.max_tokens = max_tokens
        self.correct_above = correct_above
        self.calls = 0
        self.__name__ = "stack_advantages"

    @torch.no_grad()
    def __call__(
        self, token_level_rewards: Tensor, response_mask: Tensor, index: Any = None, config: Any = None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        """(advantages, advantages) [N, T], 0 where the mask is; rows with the same `index` (verl's uid) are a group."""
        del config  # the stack holds its own parameters
        if index is None:
            raise HarnessError("the verl bridge groups by uid, and verl gave none")
        hooks = self.hooks
        batch = self._batch(token_level_rewards, response_mask, index)
        self.state.begin_step(self.calls, 0.0)
        self.state.group_size = int(batch.groups.count().max())
        self.state.prompts_per_step = batch.groups.number
        self.calls += 1
        batch = batch.replace(group_keys=hooks.group_by(batch=batch))
        self.state.gathered = batch
        batch = hooks.shape_rewards(batch=batch)
        found = hooks.estimate_advantages(batch=batch)
        if batch.extras:
            names = ", ".join(sorted(batch.extras))
            raise HarnessError(f"the verl bridge cannot carry batch.extras ({names}) from the estimator to the loss")
        spread = torch.where(batch.mask > 0, found.expand(batch.mask.shape), torch.zeros_like(batch.mask))
        return spread, spread

    def _batch(self, token_level_rewards: Tensor, response_mask: Tensor, index: Any) -> Batch:
        """One reward column, its value on every token; a response that fills `max_tokens` counts as cut off."""
        mask = response_mask.to(token_level_rewards.dtype)
        uid = np.unique(np.asarray(index).astype(str), return_inverse=True)[1].reshape(-1)
        rewards = (token_level_rewards * mask).sum(-1)
        lengths = (mask > 0).sum(-1)
        return make_batch(
            mask=mask,
            prompt=torch.as_tensor(uid, device=mask.device),
            rewards=rewards[:, None],
            reward_names=("reward",),
            reward_weights=torch.ones_like(rewards[:1]),
            correct=rewards > self.correct_above,
            max_tokens=self.max_tokens,
            truncated=lengths >= self.max_tokens,
            token_columns={"reward": token_level_rewards},
        )
