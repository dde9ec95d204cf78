"""What the stack needs to know about every row before advantages: old and reference log-probabilities, and more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.batch import Batch
from harness.policies.rollouts import Request
from harness.training.stages.assemble import assemble

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["annotate"]


def annotate(context: Context, batch: Batch) -> Batch:
    """The batch with `logp_old`, `logp_ref`, `entropy`, `greedy_reward` where asked for, and plugins' extras.

    `logp_old` is measured here when a batch gives several minibatches; with a single one it is the detached `logp` of
    the first update, and no pass is made.
    """
    needs, metered = context.needs, context.metered
    metered.forget()
    no_entropy = "entropy" in needs and batch.entropy is None
    if context.several_updates or no_entropy:
        output = metered.run(batch, "old")
        metered.remember(batch, output)
        batch = batch.replace(logp_old=output.logp)
        if no_entropy:
            batch = batch.replace(entropy=output.entropy)
    if context.state.reference is not None:
        batch = batch.replace(logp_ref=context.state.reference.run(batch, "reference").logp)
    if "greedy" in needs:
        batch = batch.replace(greedy_reward=_greedy(context, batch))
    extras = context.hooks.annotate(batch=batch, policy=metered)
    if batch.logp_old is None and (known := metered.known(batch)) is not None:
        batch = batch.replace(logp_old=known.logp)
    return batch.with_extras(**extras) if extras else batch


def _greedy(context: Context, batch: Batch) -> Tensor:
    """[N] the reward of one greedy completion of the row's prompt: scored and charged, never trained."""
    state = context.state
    keys = dict.fromkeys(record.key for record in batch.prompts)
    requests = []
    for key in keys:
        plain = state.request(key, n=1)
        requests.append(Request(key=key, prompt_ids=plain.prompt_ids, n=1, max_tokens=plain.max_tokens, greedy=True))
    rollouts = context.sampler.generate(requests, stream="greedy", category="greedy")
    scored = assemble(context, rollouts, context.hooks.score(rollouts=rollouts, task=context.task))
    place = {key: number for number, key in enumerate(keys)}
    rows = torch.tensor([place[record.key] for record in batch.prompts], device=batch.device)
    return scored.reward[rows]
