"""What a method makes of simulated batches: its gradient of every one, and the pull on every completion."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from harness.batch import Batch
from harness.errors import HarnessError
from harness.host import HookCaller, Stack
from harness.host.info import scope_of
from harness.host.standin import begin, stand_in
from harness.lab.draw import Simulation, parts
from harness.policies.rollouts import Request

__all__ = ["Gradients", "NotInTheLab", "estimate", "sized", "stands_alone"]

CARRIED = frozenset({
    "start", "allocate_rollouts", "shape_rewards", "estimate_advantages", "train_on", "aggregate", "policy_loss",
    "loss", "regularize", "keep", "group_by", "end_step",
})  # fmt: skip


ACTING = CARRIED - {"start", "allocate_rollouts", "group_by", "keep", "end_step"}


class NotInTheLab(HarnessError):  # noqa: N818 - a statement, not a fault
    """The lab has nothing to say of a method: it acts where there is no bandit."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gradients:
    """ascent [M, B, S V]: the direction in which the method moves the logits, batch by batch; pull [M, B, G]: the sum
    over a completion's tokens of the same with respect to its log-probabilities. `skipped`: hooks that were not run.
    """

    ascent: Tensor
    pull: Tensor
    skipped: tuple[str, ...]


def stands_alone(stack: Stack) -> bool:
    """Whether every plugin says that the result of a group depends on that group only."""
    return all(scope_of(seat.plugin) == "group" for seat in stack.seats)


def estimate(
    stack: Stack, simulation: Simulation, *, stacked: bool | None = None, most: int | None = None
) -> Gradients:
    """The gradients of all batches, or of the first `most` where they are run one by one.

    `stacked` runs them as one, which the default does where groups stand alone; weights of tokens are of every batch by
    itself all the same, for what they are divided by is counted over a batch. In a loop the method keeps its state from
    batch to batch, as over steps at which the policy stands still.
    Raises NotInTheLab for a method whose gradient needs what a table of logits has not.
    """
    implemented = _implemented(stack)
    stacked = stands_alone(stack) if stacked is None else stacked
    hooks = _started(stack, simulation)
    if stacked:
        found = _pulls(hooks, simulation, simulation.batch, simulation.logp)
    else:
        logps = simulation.logp.split(len(simulation.each[0]))
        found = torch.cat([_pulls(hooks, simulation, *one) for one in zip(simulation.each[:most], logps, strict=False)])
    pull = found.sum(-1).reshape(-1, *simulation.choice.shape[1:])
    return Gradients(simulation.to_logits(found), pull, tuple(sorted(implemented - CARRIED)))


def _implemented(stack: Stack) -> set[str]:
    """The hooks that the stack implements. Raises NotInTheLab where they leave the lab nothing to measure."""
    refused = sorted({"hidden", "top_logits"} & stack.needs)
    if refused:
        raise NotInTheLab(f"{stack}: needs {', '.join(refused)}, which a table of logits has not")
    implemented = {hook for seat in stack.seats for hook in seat.info.hooks}
    if "build" in implemented:
        raise NotInTheLab(f"{stack}: trains a module of its own beside the policy")
    if implemented and not implemented & ACTING:
        raise NotInTheLab(f"{stack}: acts in {', '.join(sorted(implemented))} only; its gradient is its base's")
    return implemented


def sized(stack: Stack, group_size: int) -> int:
    """The completions a prompt that the method asks for where a suite says `group_size`.

    Raises NotInTheLab for a method that asks for different numbers of different prompts.
    """
    if not any("allocate_rollouts" in seat.info.hooks for seat in stack.seats):
        return group_size
    state = stand_in(group_size=group_size, prompts=1, max_tokens=1)
    state.request = lambda prompt, n=None, **_: Request(prompt, (0,), group_size if n is None else n)
    try:
        asked = {request.n for request in stack.caller(state).allocate_rollouts(prompts=["a", "b", "c"])}
    except (AttributeError, TypeError, KeyError) as error:
        raise NotInTheLab(f"{stack}: its allocate_rollouts needs a real run ({error})") from error
    if len(asked) != 1 or not 0 < min(asked) < 1024:
        raise NotInTheLab(f"{stack}: asks for {sorted(asked)} completions of different prompts")
    return asked.pop()


def _started(stack: Stack, simulation: Simulation) -> HookCaller:
    """A caller whose methods have been told where they are."""
    size, tokens = simulation.setting.group_size, simulation.world.mask.shape[1]
    hooks = stack.caller(stand_in(group_size=size, prompts=simulation.prompts, max_tokens=tokens))
    try:
        begin(hooks, simulation.each[0])
    except (AttributeError, TypeError) as error:
        raise NotInTheLab(f"{stack}: its start needs a real run ({error})") from error
    return hooks


def _pulls(hooks: HookCaller, simulation: Simulation, batch: Batch, logp: Tensor) -> Tensor:
    """[N, T] minus the gradient of the loss of a batch, or of the sum of several's, w.r.t. log-probabilities [N, T]."""
    hooks.state.gathered = batch
    batch = batch.replace(group_keys=hooks.group_by(batch=batch))
    kept = hooks.keep(batch=batch)
    counts = kept.reshape(-1, len(simulation.each[0])).sum(1).tolist()
    pull = torch.zeros_like(logp)
    if kept.any():
        pull[kept] = _pull(hooks, simulation, batch if kept.all() else batch[kept], logp[kept], counts)
    hooks.state.step += 1
    hooks.end_step(batch=batch, metrics={})
    return pull


def _pull(hooks: HookCaller, simulation: Simulation, batch: Batch, logp: Tensor, counts: Sequence[int]) -> Tensor:
    """The same of the rows that are kept; counts: how many of every batch."""
    batch = hooks.shape_rewards(batch=batch)
    batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    chosen = hooks.train_on(batch=batch)
    batch = batch if chosen is None else batch.replace(mask=batch.mask * chosen)
    leaf = logp.clone().requires_grad_()
    output = simulation.output(batch, leaf)
    batch = batch.replace(weights=_weights(hooks, batch, counts))
    total = hooks.loss(batch=batch, output=output)
    penalty = hooks.penalty(batch=batch, output=output)
    total = total if penalty is None else total + penalty
    if not total.requires_grad:
        return torch.zeros_like(logp)
    (found,) = torch.autograd.grad(total, leaf, allow_unused=True)
    return torch.zeros_like(logp) if found is None else -found


def _weights(hooks: HookCaller, batch: Batch, counts: Sequence[int]) -> Tensor:
    """[N, T] what `aggregate` says of every batch by itself."""
    if len(counts) == 1:
        return hooks.aggregate(batch=batch)
    return torch.cat([hooks.aggregate(batch=one) for one in parts(batch, counts)])
