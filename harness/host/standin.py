"""What hooks may ask of `state` and `run` where there is no trial: numbers and a generator, nothing that costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.host.caller import HookCaller

__all__ = ["begin", "stand_in"]


def stand_in(*, group_size: int, prompts: int, max_tokens: int, gathered: Batch | None = None) -> Any:
    """A `state` at step 0 with one update a batch; there is no policy, task or pool behind it."""
    return SimpleNamespace(
        step=0, progress=0.0, round=0, seed=0, hook="start", group_size=group_size, prompts_per_step=prompts,
        max_tokens=max_tokens, max_rounds=1, minibatches=1, updates_per_batch=1, temperature=1.0, metrics={},
        modules={}, generator=torch.Generator().manual_seed(0), gathered=gathered, pool=None, task=None, policy=None,
        reference=None,
    )  # fmt: skip


def begin(hooks: HookCaller, rollouts: Batch) -> None:
    """Call `start` with a run that knows what the caller's stand-in state does, and samples `rollouts`."""
    state = hooks.state
    hooks.start(run=SimpleNamespace(**vars(state), state=state, rollout=lambda *_, **__: rollouts))
