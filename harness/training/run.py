"""What `start` receives: the trial before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from harness.batch import Batch
from harness.training.reserve import numbered
from harness.training.stages.assemble import assemble

if TYPE_CHECKING:
    from harness.training.context import Context
    from harness.training.state import State

__all__ = ["Run"]


class Run:
    """Everything of `state` (seed, pool, task, policy, group_size, generator ...), and charged rollouts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rollouts = 0

    @property
    def state(self) -> State:
        """The state that hooks will see."""
        return self._context.state

    @property
    def generator(self) -> torch.Generator:
        """Random numbers keyed by (seed, start)."""
        return self._context.state.generator

    def __getattr__(self, name: str) -> Any:
        """What is not here is the state's."""
        return getattr(self._context.state, name)

    def rollout(self, prompts: Sequence[str], n: int | None = None, *, temperature: float | None = None) -> Batch:
        """`n` scored completions of every prompt key (default: the group size) from the initial policy, charged.

        Raises BudgetSpent where the budget does not allow them. Grouped by prompt; nothing is dropped.
        """
        context, state = self._context, self._context.state
        self._rollouts += 1
        state.places = {}
        requests = [state.request(key, n, temperature=temperature) for key in prompts]
        rollouts = context.sampler.generate(numbered(requests, None), stream=f"start/{self._rollouts}")
        batch = assemble(context, rollouts, context.hooks.score(rollouts=rollouts, task=context.task))
        state.places = {}
        return batch
