"""A copy of the policy that a plugin keeps beside it: a lagged or averaged policy, a teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness.distributed.sharding import full

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["PolicyCopy"]


class PolicyCopy(nn.Module):
    """A frozen copy with weights of its own (of the adapter alone, where there is one), as a module that `build` can
    return: it is then metered as `module:NAME`, found in `state.modules[NAME]`, and part of every checkpoint.

    It scores as a policy does (`score`, `evaluate`, `kl`) and is never called with the policy's passes.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = (policy.clone(),)  # in a tuple: only its network is a submodule
        if policy.adapted:  # the frozen weights below are shared: they are nobody's to move, convert or save
            self.adapter = nn.ParameterList(self._policy[0].weights().values())
        else:
            self.model = self._policy[0].model

    def __getattr__(self, name: str) -> Any:
        """What is not the module's own is the policy's: backbone, encode, n_params ..."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__") or "_policy" not in self.__dict__:
                raise
            return getattr(self.__dict__["_policy"][0], name)

    def forward(self, *args: Any, **options: Any) -> Any:
        """As `Policy.forward`."""
        return self._policy[0].forward(*args, **options)

    def score(self, *args: Any, **options: Any) -> Tensor:
        """As `Policy.score`."""
        return self._policy[0].score(*args, **options)

    @torch.no_grad()
    def follow(self, policy: Any, share: float = 1.0) -> None:
        """Weights += share (the policy's - weights): 1 copies, less is an average over time."""
        for own, shared in zip(self.weights().values(), policy.weights().values(), strict=True):
            other = full(shared)
            if share == 1.0:
                own.copy_(other)
            else:
                own.lerp_(other.to(own), share)
