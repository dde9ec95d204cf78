"""The plugin at the bottom of every stack: the default implementation of every hook.

The `all` hooks (start, build, keep, annotate, train_on, regularize, end_step) have none: an empty collection means
nothing to set up, all rows kept, all tokens trained, no penalty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from harness.batch import Batch, PolicyOutput

__all__ = ["CLIP", "Defaults"]

CLIP = 0.2  # PPO's range (arXiv 1707.06347)

hookimpl = pluggy.HookimplMarker("harness")


class Defaults:
    """What happens where no plugin says otherwise: REINFORCE with the group mean as baseline, under PPO's clip."""

    @hookimpl
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """The step's slice of the shuffled epoch; in later rounds the pool gives what their own stream draws."""
        return pool.at_step(state.step, count)

    @hookimpl
    def allocate_rollouts(self, prompts: Sequence[str], state: Any) -> Sequence[Any]:
        """`group_size` completions of every prompt."""
        return [state.request(prompt, state.group_size) for prompt in prompts]

    @hookimpl
    def generate(self, sampler: Any, requests: Sequence[Any]) -> Any:
        """One sampling pass."""
        return sampler.generate(requests)

    @hookimpl
    def score(self, rollouts: Any, task: Any) -> Mapping[str, Tensor]:
        """The task's own columns."""
        return task.score(rollouts)

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """The prompt."""
        return batch.prompt

    @hookimpl
    def next_round(self) -> None:
        """One round."""
        return

    @hookimpl
    def augment(self, batch: Batch) -> Batch:
        """The batch as it is."""
        return batch

    @hookimpl
    def shape_rewards(self, batch: Batch) -> Batch:
        """The rewards as they are."""
        return batch

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """[N] reward minus group mean."""
        return batch.groups.center(batch.reward)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """[N, T] mask / tokens of the minibatch: every token counts the same."""
        return batch.mask / batch.mask.sum().clamp_min(1)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, T] -min(ratio A, clip(ratio, 1 - 0.2, 1 + 0.2) A)."""
        assert batch.advantages is not None
        clipped = output.ratio.clamp(1 - CLIP, 1 + CLIP)
        return -torch.minimum(output.ratio * batch.advantages, clipped * batch.advantages)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput, hooks: Any) -> Tensor:
        """The weighted sum of the token losses."""
        assert batch.weights is not None
        return (batch.weights * hooks.policy_loss(batch=batch, output=output)).sum()

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """`updates_per_batch` epochs; in each, for every minibatch: gradient, clip its norm, step."""
        return _combined([learner.epoch(batch) for _ in range(state.updates_per_batch)])


def _combined(epochs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Metrics of several epochs as one: the largest of what ends in _max, the sum of counted tokens, else the mean."""
    if len(epochs) == 1:
        return epochs[0]
    merged = {}
    for name in dict.fromkeys(name for epoch in epochs for name in epoch):
        values = [epoch[name] for epoch in epochs if name in epoch]
        total = max(values) if name.endswith("_max") else sum(values)
        merged[name] = total if name.endswith("_max") or name == "tokens_trained" else total / len(values)
    return merged
