"""Sampling from weights that are some steps old."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.distributed.sharding import full

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Lag"]


class Lag:
    """Holds the weights of the last `k` steps; `policy` has those that sample. With k = 0 it is the learner's own."""

    def __init__(self, policy: Policy, k: int) -> None:
        self.live = policy
        self.k = k
        self.policy = policy.clone() if k else policy
        self.kept: deque[dict[str, Tensor]] = deque(maxlen=k + 1)

    @torch.no_grad()
    def begin_step(self) -> int:
        """Call before every step: keep the weights, and put those of k steps ago (the oldest before) to work.

        Returns the age of the sampling weights in steps.
        """
        if not self.k:
            return 0
        self.kept.append({name: full(x.detach()).clone() for name, x in self.live.weights().items()})
        oldest = self.kept[0]
        for name, parameter in self.policy.weights().items():
            parameter.copy_(oldest[name])
        return len(self.kept) - 1

    def state_dict(self) -> dict[str, Tensor]:
        """The kept weights as named tensors, oldest first."""
        return {f"{place}/{name}": x for place, weights in enumerate(self.kept) for name, x in weights.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from `state_dict()`."""
        self.kept.clear()
        weights: dict[int, dict[str, Tensor]] = {}
        for key, x in state.items():
            place, name = key.split("/", 1)
            weights.setdefault(int(place), {})[name] = x.clone()
        self.kept.extend(weights[place] for place in sorted(weights))
