"""Registering a stack with verl: an advantage estimator for the driver, a policy loss for the workers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from verl.trainer.ppo import core_algos

from harness.bridges.contract import VERL, as_stack, check
from harness.bridges.state import BridgeRun, BridgeState
from harness.bridges.verl.advantages import Advantages
from harness.bridges.verl.loss import PolicyLoss
from harness.bridges.verl.modes import Mode, recognize, sample
from harness.errors import UsageError
from harness.host import Stack

__all__ = ["Registered", "register"]


class Registered:
    """A stack under a name in both registries.

    mode: the `loss_agg_mode` of the stack's weights, None where verl has none. settings: what belongs into the config.
    """

    def __init__(self, name: str, stack: Stack, without: tuple[str, ...], mode: Mode | None) -> None:
        self.name = name
        self.stack = stack
        self.without = without
        self.mode = mode

    @property
    def settings(self) -> list[str]:
        """The overrides for verl's command line."""
        actor = "actor_rollout_ref.actor"
        lines = [f"algorithm.adv_estimator={self.name}", f"{actor}.policy_loss.loss_mode={self.name}"]
        if self.mode is not None:
            lines.append(f"{actor}.loss_agg_mode={self.mode.name}")
            if self.mode.scale is not None:
                lines.append(f"{actor}.loss_scale_factor={self.mode.scale}")
        return lines

    def __repr__(self) -> str:
        beyond = f", without {', '.join(self.without)}" if self.without else ""
        return f"<{self.stack.canonical}{beyond}: {' '.join(self.settings)}>"


def register(
    stack: str | type | Stack,
    *,
    max_tokens: int,
    name: str | None = None,
    without: Collection[str] = (),
    plugins: Sequence[str | Path] = (),
    correct_above: float = 0.5,
    seed: int = 0,
) -> Registered:
    """Put a stack into verl's registries, in this process; every worker must run the same call.

    max_tokens: verl's `data.max_response_length`. name: in both registries, default `harness_` and the stack's name in
    letters, digits and underscores. without: hooks that verl has no place for and that the run does without.
    correct_above: a reward above it is the verdict `batch.correct`. Raises UsageError for what the bridge cannot carry.
    """
    built = as_stack(stack, plugins)
    missing = check(VERL, built, without)
    name = _name(name or "harness_" + re.sub(r"[^A-Za-z0-9]+", "_", built.canonical).strip("_").lower())
    state = BridgeState("verl", seed, max_tokens=max_tokens, minibatches=1, updates_per_batch=1)
    hooks = built.caller(state)
    hooks.start(run=BridgeRun(state))
    probe = sample(max_tokens)
    weights = hooks.aggregate(batch=probe)
    mode = None if hooks.implemented("loss") else recognize(weights, probe.mask)
    made = Registered(name, built, missing, mode)
    core_algos.register_adv_est(name)(Advantages(hooks, state, max_tokens, correct_above))
    core_algos.register_policy_loss(name)(PolicyLoss(hooks, built, mode, max_tokens, made.settings))
    return made


def _name(name: str) -> str:
    """A name that neither registry holds."""
    if name in core_algos.ADV_ESTIMATOR_REGISTRY or name in core_algos.POLICY_LOSS_REGISTRY:
        raise UsageError(f"verl has an estimator or a policy loss named {name!r} already; give register another name=")
    return name
