"""A trial's state as a tree for checkpoints, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from harness.distributed.sharding import full, share_of
from harness.errors import HarnessError
from harness.training.checkpoint import optimizer_state, restore_optimizer
from harness.training.context import Habits

if TYPE_CHECKING:
    from harness.training.setup import Trial

__all__ = ["resume", "tree"]


def tree(trial: Trial) -> dict[str, Any]:
    """Weights, moments, built modules, plugin state, ledger, lagged weights: all that a step is a function of.

    Raises PluginError for a plugin attribute that cannot be saved, naming it.
    """
    context, learner = trial.context, trial.context.learner
    return {
        "policy": {name: full(parameter) for name, parameter in context.policy.weights().items()},
        "below": context.policy.base_digest(),
        "modules": {name: dict(made.module.state_dict()) for name, made in learner.built.items()},
        "optimizer": optimizer_state(learner.optimizer),
        "plugins": trial.stack.state_dict(),
        "ledger": context.ledger.state_dict(),
        "lag": trial.lag.state_dict(),
        "habits": dataclasses.asdict(context.habits),
    }


@torch.no_grad()
def resume(trial: Trial, state: dict[str, Any]) -> None:
    """Put a freshly made trial (constructed, started, built) where `tree` was taken."""
    context, learner = trial.context, trial.context.learner
    if state.get("below") != context.policy.base_digest():
        raise HarnessError("the checkpoint's adapter is for other weights than policy.model has now; start anew")
    for name, parameter in context.policy.weights().items():
        parameter.copy_(share_of(state["policy"][name], parameter))
    for name, made in learner.built.items():
        made.module.load_state_dict(state["modules"][name])
    restore_optimizer(learner.optimizer, state["optimizer"])
    trial.stack.load_state_dict(state["plugins"])
    context.ledger.load_state_dict(state["ledger"])
    trial.lag.load_state_dict(state["lag"])
    context.habits = Habits(**state["habits"])
