"""Reserving the worst case of a round before it is sampled, and dropping whole groups until it fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from harness.budget import Cost
from harness.policies.rollouts import Request
from harness.training.meter import worst_case
from harness.training.passes import row_tokens

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.training.config import LearnerConfig
    from harness.training.context import Context

__all__ = ["affordable", "foreseen_passes", "group_cost", "numbered"]


def affordable(context: Context, requests: Sequence[Request], gathered: Batch | None) -> list[Request]:
    """The requests, in order, whose worst case fits beside the passes over what is gathered already.

    The worst case is every completion at full length and every pass to follow. Requests of one prompt stay or go
    together. Under `seconds` everything fits until the time is up.
    """
    ledger = context.ledger
    held = Cost(updates=context.habits.updates)
    if gathered is not None:
        held = held + _follow(context, float(row_tokens(gathered).sum()))
        if "greedy" in context.needs:
            for key in dict.fromkeys(record.key for record in gathered.prompts):
                held = held + greedy_cost(context.state.request(key, n=1))
    by_prompt: dict[str, list[Request]] = {}
    for request in requests:
        if request.n > 0:
            by_prompt.setdefault(request.key, []).append(request)
    kept: set[str] = set()
    for key, group in by_prompt.items():
        greedy = "greedy" in context.needs and key not in context.state.places
        held = held + group_cost(group, context.habits.passes, greedy=greedy)
        if not ledger.fits(held):
            break
        kept.add(key)
    return [request for request in requests if request.n > 0 and request.key in kept]


def numbered(requests: Sequence[Request], gathered: Batch | None) -> list[Request]:
    """The requests with rollout numbers that no other completion of their prompt has in this step."""
    free: dict[str, int] = {}
    if gathered is not None:
        for record, rollout in zip(gathered.prompts, gathered.rollout.tolist(), strict=True):
            free[record.key] = max(free.get(record.key, 0), rollout + 1)
    found = []
    for request in requests:
        first = max(request.first_rollout, free.get(request.key, 0))
        free[request.key] = first + request.n
        found.append(request if first == request.first_rollout else dataclasses.replace(request, first_rollout=first))
    return found


def group_cost(group: Sequence[Request], passes: float, *, greedy: bool) -> Cost:
    """The worst case of one prompt's requests: sampling, a greedy completion if it needs one, the passes to follow."""
    cost = worst_case(group)
    if greedy:
        cost = cost + greedy_cost(group[0])
    rows = sum(request.n * (len(request.prompt_ids) + request.max_tokens) for request in group)
    return cost + Cost(compute=passes * rows)


def foreseen_passes(
    learner: LearnerConfig, needs: Collection[str], per_pass: float = 1.0, frozen: float = 0.0
) -> float:
    """Forward-tokens a token of a row that settings and needs let expect after sampling, before a step was seen.

    per_pass: what one forward costs with the modules that were built; frozen: the part that is not trained.
    """
    passes = learner.updates_per_batch * (3 * per_pass - 2 * frozen)
    if learner.minibatches > 1 or "entropy" in needs:
        passes += per_pass
    return passes + 1 if "reference" in needs else passes


def greedy_cost(request: Request) -> Cost:
    """One greedy completion of the request's prompt at full length."""
    return Cost.generation(len(request.prompt_ids), request.max_tokens, 1)


def _follow(context: Context, tokens: float) -> Cost:
    return Cost(compute=context.habits.passes * tokens)
