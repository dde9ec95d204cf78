"""What hooks may ask of `state` and `run` inside another trainer: numbers, a generator, nothing that costs."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from harness.errors import HarnessError
from harness.training.state import derive_seed

__all__ = ["BridgeRun", "BridgeState"]


class BridgeState:
    """The facts of a run; anything else that a hook asks for is refused by name.

    `generator` is keyed by (seed, step, hook) as in a trial, so that what a method draws can be repeated.
    """

    def __init__(self, bridge: str, seed: int, **facts: Any) -> None:
        """`facts` become attributes: group_size, prompts_per_step, max_tokens, temperature ..."""
        self.bridge = bridge
        self.seed = seed
        self.hook: str | None = None
        self.modules: dict[str, Any] = {}
        self.max_rounds = 1
        self.group_size = self.prompts_per_step = 0  # where they are not known before a batch is seen
        self._generators: dict[str, torch.Generator] = {}
        self.begin_step(0, 0.0)
        self.__dict__.update(facts)

    def begin_step(self, step: int, progress: float) -> None:
        """Forget the last step's metrics and random numbers."""
        self.step, self.progress, self.round = step, progress, 0
        self.gathered: Any = None
        self.metrics: dict[str, float] = {}
        self._generators = {}

    @property
    def generator(self) -> torch.Generator:
        """Random numbers keyed by (seed, step, hook); continues within a step."""
        hook = self.hook or "start"
        if hook not in self._generators:
            self._generators[hook] = torch.Generator().manual_seed(derive_seed(self.seed, self.step, hook))
        return self._generators[hook]

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError that says what is missing."""
        raise AttributeError(f"the {self.__dict__.get('bridge')} bridge has no state.{name}")


class BridgeRun:
    """What `start` receives: the state's facts; rollouts are refused."""

    def __init__(self, state: BridgeState) -> None:
        self.state = state

    def __getattr__(self, name: str) -> Any:
        """What is not here is the state's."""
        return getattr(self.state, name)

    def rollout(self, *_: Any, **__: Any) -> NoReturn:
        """Raise HarnessError: nothing is sampled before the other trainer begins."""
        raise HarnessError(f"the {self.state.bridge} bridge cannot give rollouts in start; the stack cannot run there")
