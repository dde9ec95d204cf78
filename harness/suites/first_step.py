"""Whether a budget buys a first step: what the reservation of docs/rules.md would refuse never starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.budget import Cost
    from harness.host import Stack
    from harness.tasks.mixture import Mixture
    from harness.training.config import TrialConfig

__all__ = ["check_first_step"]

OWN = frozenset({"select_prompts", "allocate_rollouts"})  # stacks that choose their requests are judged as they run
TEMPLATE = 128  # tokens that a chat template is taken to add at most, where no tokenizer is asked

Encode = Callable[[str], Sequence[int]]


def check_first_step(trials: Sequence[TrialConfig]) -> None:
    """Raise UsageError if half a batch, the least that runs, may cost more than a trial has.

    Prompts are counted generously first; the tokenizer is asked only where that does not fit. Modules that a stack
    builds are not known here: such a trial may still end without a step, and says so.
    """
    from harness.host import build_stack, discover

    if not trials or trials[0].budget.currency == "seconds":
        return
    shared = trials[0]
    catalogue = discover(shared.plugins)
    stacks = {name: build_stack(name, catalogue) for name in dict.fromkeys(trial.method for trial in trials)}
    mixtures = {seed: _mixture(shared, seed) for seed in dict.fromkeys(trial.seed for trial in trials)}
    exact: Encode | None = None
    short: list[tuple[float, TrialConfig]] = []
    for trial in trials:
        stack, task = stacks[trial.method], mixtures[trial.seed]
        if any(OWN & seat.info.hooks.keys() for seat in stack.seats):
            continue
        if _fits(trial, _half(trial, stack, task, _generous(trial))):
            continue
        exact = exact or _tokenizer(trial)
        least = _half(trial, stack, task, exact)
        if not _fits(trial, least):
            short.append((_amount(trial, least), trial))
    if short:
        need, trial = max(short, key=lambda pair: pair[0])
        raise UsageError(_said(trial, need))


def _mixture(config: TrialConfig, seed: int) -> Mixture:
    from harness.tasks.load import load_task
    from harness.tasks.mixture import Mixture

    tasks = [(load_task(share.task, share.options), share.share) for share in config.tasks]
    return Mixture(tasks, seed=seed, reward_weights=config.reward_weights)


def _half(config: TrialConfig, stack: Stack, task: Mixture, encode: Encode) -> Cost:
    """The worst case of the first half of the trial's first batch, as the reservation counts it."""
    from harness.budget import Cost
    from harness.policies.rollouts import Request
    from harness.training.reserve import foreseen_passes, group_cost

    sampling, learner = config.sampling, config.learner
    passes, greedy = foreseen_passes(learner, stack.needs), "greedy" in stack.needs
    groups: dict[str, list[Request]] = {}
    for key in task.pool.at_step(0, sampling.prompts):
        ids = tuple(encode(task.problem(key).prompt))
        request = Request(key, ids, sampling.group_size, sampling.temperature, sampling.max_tokens)
        groups.setdefault(key, []).append(request)
    total, number = Cost(updates=learner.minibatches * learner.updates_per_batch), 0
    for group in groups.values():
        if 2 * number >= sampling.prompts:
            break
        total, number = total + group_cost(group, passes, greedy=greedy), number + len(group)
    return total


def _amount(config: TrialConfig, cost: Cost) -> float:
    return float(getattr(cost, config.budget.currency))


def _fits(config: TrialConfig, cost: Cost) -> bool:
    return _amount(config, cost) <= config.budget.limit


def _generous(config: TrialConfig) -> Encode:
    """At least as many tokens as any byte-level tokenizer gives."""
    extra = TEMPLATE + len((config.policy.system or "").encode())
    return lambda text: range(len(text.encode()) + extra)


def _tokenizer(config: TrialConfig) -> Encode:
    from harness.policies.load import load_tokenizer
    from harness.policies.text import Text

    settings = config.policy
    tokenizer = load_tokenizer(settings.model, settings.revision)
    spoken = Text(tokenizer, chat=settings.chat, options=settings.chat_options)
    return lambda text: spoken.prompt(text, settings.system)


def _said(config: TrialConfig, need: float) -> str:
    """One line: what, whose, and how much is enough."""
    currency, sampling = config.budget.currency, config.sampling
    return (
        f"suite {config.suite}: a budget of {_short(config.budget.limit)} {currency} buys no step of {config.method}: "
        f"half a batch ({math.ceil(sampling.prompts / 2)} of {sampling.prompts} prompts, {sampling.group_size} "
        f"completions each, up to {sampling.max_tokens} tokens) may cost {_short(need)}; give at least --budget "
        f"{_short(need)}, and some times that to see anything learned"
    )


def _short(amount: float) -> str:
    """Amounts rounded up in thousands, as --budget reads them: 34.3k."""
    return f"{math.ceil(amount / 100) / 10:g}k" if amount >= 1000 else f"{math.ceil(amount):g}"
