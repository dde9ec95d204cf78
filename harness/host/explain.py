"""What a stack will do: the chain of every hook as it will run, the needs after union, the extra passes charged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.hookspecs import HOOKS
from harness.host.charged import start_may_charge
from harness.host.hidden import FIRST, PASSING
from harness.host.info import needs_of
from harness.host.regime import Regime

if TYPE_CHECKING:
    from harness.host.stack import Stack

__all__ = ["Chain", "chains", "charges", "explain", "render"]

# `all` hooks have no default but one: the task's own reward columns.
_DEFAULTS = frozenset(FIRST | {"score"})

_PASSES = {
    "reference": "one forward of the frozen initial policy over every row, each step",
    "entropy": "none where the sampler's weights are the learner's; under sampler.lag one forward over every row",
    "hidden": "none: the states of passes that are made anyway",
    "top_logits": "none: the logits of passes that are made anyway",
    "greedy": "one greedy completion of every prompt, its prompt and its tokens, each step",
}
_HOOK_PASSES = {
    "start": "what it samples or evaluates before step 0",
    "build": "every pass of the modules it builds, by their size relative to the policy",
    "allocate_rollouts": "as many completions as it asks for",
    "generate": "every token it samples, thrown away or not",
    "next_round": "every further round, if it asks for any, the completions that are dropped included",
    "augment": "training on the rows it adds",
    "annotate": "every pass it asks of the policy or of a module",
    "update": "every pass over the batch that it makes",
}


@dataclasses.dataclass(frozen=True)
class Chain:
    """One hook: wrappers outermost first, the plain implementations that run, and those that are replaced."""

    hook: str
    first: bool
    wrappers: tuple[str, ...]
    plain: tuple[str, ...]
    replaced: tuple[str, ...]

    def __str__(self) -> str:
        """`f-grpo(tis(dapo))`; several plain ones, of an `all` hook or passing one, are listed in order of the call."""
        inner = " then ".join(self.plain) if self.first else ", ".join(self.plain)
        if self.wrappers:
            inner = "".join(f"{label}(" for label in self.wrappers) + inner + ")" * len(self.wrappers)
        return f"{inner}   (replaces {', '.join(self.replaced)})" if self.replaced else inner


def chains(stack: Stack) -> list[Chain]:
    """The chain of every hook that a plugin of the stack implements, in order of a training step."""
    found = []
    for hook in HOOKS:
        kinds = [(seat.label, seat.info.hooks[hook]) for seat in reversed(stack.seats) if hook in seat.info.hooks]
        if not kinds:
            continue
        plain = [label for label, kind in kinds if kind == "plain"] + (["defaults"] if hook in _DEFAULTS else [])
        runs = len(plain) if hook not in FIRST - PASSING else 1
        wrappers = tuple(label for label, kind in kinds if kind == "wrapper")
        replaced = tuple(label for label in plain[runs:] if label != "defaults")
        found.append(Chain(hook, hook in FIRST, wrappers, tuple(plain[:runs]), replaced))
    return found


def charges(stack: Stack) -> list[tuple[str, str, str]]:
    """(what, who, cost) of everything that the stack is charged for beyond sampling once and training once."""
    found = []
    for need, cost in _PASSES.items():
        owners = [seat.label for seat in stack.seats if need in needs_of(seat.plugin)]
        if owners:
            found.append((need, ", ".join(owners), cost))
    free = {"defaults", *(seat.label for seat in stack.seats if seat.info.claims.identity)}
    idle = {seat.label for seat in stack.seats if "start" in seat.info.hooks and not start_may_charge(seat.plugin)}
    for chain in chains(stack):
        unpaid = free | idle if chain.hook == "start" else free
        owners = [label for label in (*chain.wrappers, *chain.plain) if label not in unpaid]
        if chain.hook in _HOOK_PASSES and owners:
            found.append((chain.hook, ", ".join(owners), _HOOK_PASSES[chain.hook]))
    return found


def explain(stack: Stack, regime: Regime | None = None, weights: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Everything about a stack as plain data.

    regime and weights: those of a suite, for what is inert under it and what it trains on beside the suite's reward.
    """
    from harness.host.advice import remarks

    return {
        **stack.spec(),
        "needs": sorted(stack.needs),
        "hooks": {chain.hook: dataclasses.asdict(chain) for chain in chains(stack)},
        "charged": [{"what": what, "for": owner, "cost": cost} for what, owner, cost in charges(stack)],
        "assumed": str(regime or Regime()),
        "remarks": [dataclasses.asdict(remark) for remark in remarks(stack, regime, weights)],
    }


def render(stack: Stack, regime: Regime | None = None, weights: Mapping[str, float] | None = None) -> str:
    """The explanation as text."""
    from harness.host.advice import remarks

    plugins = [("defaults", "of the harness")]
    plugins += [(str(seat.spec), seat.entry.origin + ("" if seat.given else ", as the base")) for seat in stack.seats]
    width = max(len(spelling) for spelling, _ in plugins)
    lines = [stack.canonical, "", "plugins, bottom to top"]
    lines += [f"  {spelling:<{width}}  {origin}" for spelling, origin in plugins]
    lines += ["", "hooks as they will run: a(b) is b wrapped by a; hooks that are not listed are the defaults'"]
    lines += [f"  {chain.hook:<20} {chain}" for chain in chains(stack)]
    lines += [
        "",
        f"needs   {', '.join(sorted(stack.needs)) or 'nothing'}",
        "",
        "charged beyond one sampling and one training",
    ]
    lines += [f"  {what:<18} {cost}   ({owner})" for what, owner, cost in charges(stack)] or ["  nothing"]
    lines += ["", f"remarks, measured on made-up batches, with {regime or Regime()}"]
    lines += [f"  {remark}" for remark in remarks(stack, regime, weights)] or ["  none"]
    return "\n".join(lines)
