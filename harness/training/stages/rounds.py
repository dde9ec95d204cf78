"""Rounds: select, allocate, generate, score, group, keep; again while a plugin asks for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.batch import Batch
from harness.budget import BudgetSpent
from harness.errors import PluginError
from harness.policies.rollouts import Request
from harness.training.reserve import affordable, numbered
from harness.training.stages.assemble import assemble

if TYPE_CHECKING:
    from harness.training.context import Context

__all__ = ["rounds"]


def rounds(context: Context, _: Batch | None = None) -> Batch:
    """The rows that the step trains on; `state.gathered` has the dropped ones too.

    At the cap on rounds, or when no more groups fit the budget, the step goes on with what is there. Raises
    BudgetSpent when less than half of the first round fits: the trial is over.
    """
    state, hooks = context.state, context.hooks
    prompts = hooks.select_prompts(pool=state.pool, count=state.prompts_per_step)
    requests = list(hooks.allocate_rollouts(prompts=prompts))
    fitting = affordable(context, requests, None)
    if 2 * _completions(fitting) < _completions(requests) or not context.ledger.left > 0:
        msg = f"less than half of a batch fits into the {context.ledger.left:g} that are left"
        raise BudgetSpent(msg)
    if not fitting:
        msg = "allocate_rollouts asked for no completion at all; give at least one request with n > 0"
        raise PluginError(msg)
    gathered: Batch | None = None
    while fitting:
        number = state.round
        gathered = _gather(context, gathered, fitting)
        if number + 1 >= state.max_rounds:
            break
        state.round = number + 1  # what is drawn from now on belongs to the next round
        more = hooks.next_round(batch=gathered, round=number)
        if not more:
            break
        fitting = affordable(context, list(more), gathered)
    assert gathered is not None
    return _kept(context, gathered)


def _completions(requests: Sequence[Request]) -> int:
    return sum(request.n for request in requests)


def _gather(context: Context, gathered: Batch | None, requests: Sequence[Request]) -> Batch:
    """One round's rows under those gathered so far, with groups and `kept` evaluated anew on all of them."""
    hooks, state = context.hooks, context.state
    rollouts = hooks.generate(sampler=context.sampler, requests=numbered(requests, gathered))
    columns = hooks.score(rollouts=rollouts, task=context.task)
    fresh = assemble(context, rollouts, columns)
    batch = fresh if gathered is None else Batch.cat([gathered.replace(group_keys=gathered.prompt), fresh])
    batch = batch.replace(group_keys=hooks.group_by(batch=batch))
    batch = batch.replace(kept=hooks.keep(batch=batch))
    state.gathered = batch
    return batch


def _kept(context: Context, gathered: Batch) -> Batch:
    """The kept rows; the others leave before any statistic and stay charged."""
    kept = int(gathered.kept.sum())
    dropped = gathered.lengths[~gathered.kept] if kept < len(gathered) else gathered.lengths[:0]
    context.ledger.count(rollouts_kept=kept, rollouts_dropped=len(gathered) - kept, tokens_discarded=int(dropped.sum()))
    context.after_rounds = context.ledger.total
    context.greedy_before = context.ledger.categories.get("greedy", 0.0)
    return gathered if kept == len(gathered) else gathered[gathered.kept]
