"""Reward columns that a suite weighs 0 and that a stack trains on all the same: a label which the others do without.

Measured, not declared: the stack is run on made-up batches that differ in nothing but such a column. Where the shaped
reward, the advantages or the loss differ too, the column is trained on.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.batch import Batch
from harness.host.bench import alike, loss_stage, make_batch, started
from harness.host.regime import Regime

if TYPE_CHECKING:
    from harness.host.stack import Stack

__all__ = ["unweighed"]

SEEDS = (0, 1)
REGIME = Regime(updates=True)
LOSSES = ("policy_loss", "loss", "regularize")
VERDICTS = ("correct", "all_passed")  # what tasks call the column that says whether a completion is right


def unweighed(stack: Stack, weights: Mapping[str, float]) -> list[str] | None:
    """The columns of weight 0 that the stack trains on; None where it neither shows one nor runs on made-up batches.

    `weights` are those of all columns that the tasks have. A first step is looked at; what chooses prompts or rollouts
    is not. No global random state is touched.
    """
    names = [name for name, weight in weights.items() if weight == 0]
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():  # modules may draw their weights from it
        warnings.simplefilter("ignore")  # what is wrong with a plugin is told when it trains
        found = {name: trained_on(stack, weights, name) for name in names}
    read = [name for name, answer in found.items() if answer]
    return None if not read and None in found.values() else read


def trained_on(stack: Stack, weights: Mapping[str, float], column: str) -> bool | None:
    """Whether other values of a column change what the stack makes of a batch; None where that cannot be told."""
    whole = True
    for seed in SEEDS:
        batch = with_columns(make_batch(seed, REGIME), weights)
        one, first = outcome(stack, batch)
        for values in others(batch):
            rewards = batch.rewards.clone()
            rewards[:, batch.reward_names.index(column)] = values
            two, second = outcome(stack, batch.replace(rewards=rewards))
            if len(one) == len(two) and not alike(tuple(one), tuple(two)):
                return True
            whole = whole and first and second
    return False if whole else None


def others(batch: Batch) -> list[Tensor]:
    """[N] other values of a column: drawn anew, all right, all wrong, as a threshold tells only some of them apart."""
    drawn = torch.rand(len(batch), generator=torch.Generator().manual_seed(99), dtype=batch.rewards.dtype)
    return [drawn, torch.ones_like(drawn), torch.zeros_like(drawn)]


def with_columns(batch: Batch, weights: Mapping[str, float]) -> Batch:
    """The batch with the columns of a suite: the verdict where a column is one, else numbers between 0 and 1."""
    noise, kind = torch.Generator().manual_seed(5), batch.rewards.dtype
    columns = [
        batch.correct.to(kind) if name in VERDICTS else torch.rand(len(batch), generator=noise, dtype=kind)
        for name in weights
    ]
    return batch.replace(
        rewards=torch.stack(columns, 1),
        reward_names=tuple(weights),
        reward_weights=torch.tensor(list(weights.values()), dtype=kind),
    )


def outcome(stack: Stack, batch: Batch) -> tuple[list[Tensor], bool]:
    """The reward that is trained on, the advantages, value and gradient of the loss; and whether all could run."""
    made: list[Tensor] = []
    try:
        hooks = started(stack.fresh().seats, batch)
        shaped = hooks.shape_rewards(batch=batch)
        made.append(shaped.reward)
        advantages = hooks.estimate_advantages(batch=shaped)
        made.append(advantages.expand(batch.mask.shape) * batch.mask)
        implemented = {hook for seat in stack.seats for hook in seat.info.hooks}
        for hook in LOSSES:
            if hook in implemented:
                made += loss_stage(hook, hooks, shaped.replace(advantages=advantages), REGIME)
    except (Exception, SystemExit):  # noqa: BLE001 - made-up batches are no reason to fail
        return [each.detach() for each in made], False
    return [each.detach() for each in made], True
