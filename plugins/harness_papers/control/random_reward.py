"""A reward that says nothing: what is gained under it was not learned from the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(base="grpo(beta=0)", exempt={"permutation": "completions draw their coins in their order"})
class RandomReward:
    """A fair coin for every completion takes the place of the reward.

    R_i ~ Bernoulli(1/2), keyed by seed and step. The task's columns are measured and logged as ever, with weight 0,
    and `correct` stays the task's verdict.

    A control, as in the studies that found models improving under random rewards (arXiv 2506.10947).
    Edge cases: groups whose coins agree teach nothing; the expected gradient of the policy is 0.
    """

    @hookimpl
    def score(self, rollouts: Any, state: Any) -> Mapping[str, Tensor]:
        """The coin, as one more column."""
        return {"coin": _flip(rollouts.logp, state.generator)}

    @hookimpl
    def shape_rewards(self, batch: Batch, state: Any) -> Batch:
        """The coin is all that counts."""
        if "coin" not in batch.reward_names:
            batch = batch.add_reward("coin", _flip(batch.rewards, state.generator))
        chosen = [float(name == "coin") for name in batch.reward_names]
        return batch.replace(reward_weights=batch.reward_weights.new_tensor(chosen))


def _flip(like: Tensor, generator: torch.Generator) -> Tensor:
    """[N] zeros and ones, for the rows and on the device of `like`."""
    return torch.randint(2, like.shape[:1], generator=generator).to(like)
