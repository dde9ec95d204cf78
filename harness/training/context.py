"""What the stages of a step share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from harness.budget import Cost

if TYPE_CHECKING:
    from harness.budget import Ledger
    from harness.policies.policy import Policy
    from harness.tasks.mixture import Mixture
    from harness.training.config import TrialConfig
    from harness.training.learner import Learner
    from harness.training.meter import MeteredPolicy, MeteredSampler
    from harness.training.state import State

__all__ = ["Context", "Habits"]


@dataclasses.dataclass
class Habits:
    """What a step of this stack has been seen to cost after its rounds: what the reservation goes by.

    `passes` are forward-tokens charged per token of the kept rows, `updates` optimizer steps; both only grow.
    """

    passes: float
    updates: float

    def watch(self, followed: Cost, tokens: float) -> None:
        """Learn from a step that charged `followed` for kept rows of `tokens` tokens in all."""
        if tokens:
            self.passes = max(self.passes, followed.compute / tokens)
        self.updates = max(self.updates, followed.updates)


@dataclasses.dataclass
class Context:
    """One trial, as its stages see it."""

    config: TrialConfig
    needs: frozenset[str]
    hooks: Any
    state: State
    ledger: Ledger
    policy: Policy
    metered: MeteredPolicy
    sampler: MeteredSampler
    task: Mixture
    learner: Learner
    habits: Habits
    age: int = 0
    after_rounds: Cost = dataclasses.field(default_factory=Cost)
    greedy_before: float = 0.0

    @property
    def several_updates(self) -> bool:
        """Whether a batch gives more than one optimizer step by the suite's settings, so that `logp_old` is a pass."""
        return self.config.learner.minibatches > 1
