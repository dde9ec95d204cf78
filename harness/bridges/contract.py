"""What a bridge to another trainer carries of a stack, and refusing by name what it cannot, before anything trains.

The tables are the source of docs/bridges.md: of every hook, where it runs there, or why it cannot.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from harness.errors import UsageError, nearest
from harness.hookspecs import HOOKS
from harness.host import Stack, build_stack, discover
from harness.host.info import NEEDS

__all__ = ["TRL", "VERL", "Bridge", "as_stack", "check", "table"]


@dataclasses.dataclass(frozen=True)
class Bridge:
    """One trainer: the hooks and needs that it has a place for, and why it has none for the others."""

    name: str
    carried: Mapping[str, str]
    refused: Mapping[str, str]
    needs: Mapping[str, str]


TRL = Bridge(
    name="trl",
    carried={
        "start": "when the trainer is made; `run.rollout` is refused",
        "group_by": "on the whole generation batch",
        "shape_rewards": "on the whole generation batch, a column per reward function",
        "estimate_advantages": "on the whole generation batch",
        "train_on": "on the whole generation batch",
        "aggregate": "on each optimizer minibatch",
        "policy_loss": "on each optimizer minibatch",
        "loss": "on each optimizer minibatch",
        "regularize": "on each optimizer minibatch",
        "end_step": "after the last update from a generation batch; numbers are logged as `method/NAME`",
    },
    refused={
        "build": "its optimizer holds the policy only",
        "select_prompts": "its data loader chooses prompts",
        "allocate_rollouts": "`num_generations` is the same for every prompt",
        "generate": "it generates itself; see its `rollout_func`",
        "score": "its `reward_funcs` score",
        "keep": "its batches have a fixed size",
        "next_round": "it generates once a batch",
        "augment": "its batches have a fixed size",
        "annotate": "hooks get no policy there",
        "update": "its loop steps the optimizer",
    },
    needs={"reference": "TRL's reference model", "entropy": "TRL's entropies, with gradient"},
)

VERL = Bridge(
    name="verl",
    carried={
        "start": "when the stack is registered, in every process; `run.rollout` is refused",
        "group_by": "in the advantage estimator; groups are verl's `uid`s",
        "shape_rewards": "in the advantage estimator; one column, the token rewards",
        "estimate_advantages": "in the advantage estimator",
        "aggregate": "as the `loss_agg_mode` that gives the same weights, else whole minibatches only",
        "policy_loss": "in the policy loss, a micro-batch at a time",
        "loss": "in the policy loss, whole minibatches only",
        "regularize": "in the policy loss; a scalar on whole minibatches only",
    },
    refused={
        "build": "its workers hold the policy only",
        "select_prompts": "its data loader chooses prompts",
        "allocate_rollouts": "`rollout.n` is the same for every prompt",
        "generate": "its rollout workers generate",
        "score": "its reward managers score",
        "keep": "the estimator returns a row for every row; see its `filter_groups`",
        "next_round": "the estimator comes after generation; see its `filter_groups`",
        "augment": "the estimator returns a row for every row",
        "annotate": "hooks get no policy there",
        "train_on": "the estimator cannot change the response mask",
        "update": "its workers step the optimizer",
        "end_step": "there is no call after the update",
    },
    needs={},
)


def as_stack(method: str | type | Stack, plugins: Sequence[str | Path] = ()) -> Stack:
    """The stack that a string, a class or a built stack names; `plugins` are files to look into as well.

    Raises UsageError for what is misspelt, PluginError for a plugin that cannot be used.
    """
    if isinstance(method, Stack):
        return method
    if isinstance(method, str):
        return build_stack(method, discover(plugins))
    if "info" not in vars(method):
        raise UsageError(f"{method.__name__} is not decorated with @method")
    return build_stack(vars(method)["info"].slug, discover(plugins).with_class(method))


def check(bridge: Bridge, stack: Stack, without: Collection[str] = ()) -> tuple[str, ...]:
    """Raise UsageError for a hook or a need that the bridge cannot carry; `without` names hooks to do without.

    Whether parameters leave an implementation idle cannot be seen from outside, so `without` is the user's word for
    it. Returns what the stack is run without, sorted, for the record.
    """
    if isinstance(without, str):
        raise UsageError(f"without={without!r} is one string; give a tuple of hooks, ({without!r},)")
    for hook in without:
        if hook not in HOOKS:
            raise UsageError(f"without: no hook is named {hook!r}.{nearest(hook, HOOKS)}")
        if hook in bridge.carried:
            raise UsageError(f"without: the {bridge.name} bridge carries {hook}; leave it out of without")
    found = {
        seat.label: [hook for hook in HOOKS if hook in seat.info.hooks and hook in bridge.refused]
        for seat in stack.seats
    }
    missing = {label: [hook for hook in hooks if hook not in without] for label, hooks in found.items()}
    for label, hooks in missing.items():
        if hooks:
            left = tuple(sorted({*without, *(hook for each in missing.values() for hook in each)}))
            raise UsageError(
                f"the {bridge.name} bridge cannot carry {', '.join(hooks)} of {label!r} ({bridge.refused[hooks[0]]}); "
                f"if its parameters leave that idle, or you mean to do without, pass without={left!r}"
            )
    _check_needs(bridge, stack)
    return tuple(sorted({hook for hooks in found.values() for hook in hooks}))


def _check_needs(bridge: Bridge, stack: Stack) -> None:
    unmet = sorted(stack.needs - set(bridge.needs))
    if unmet:
        has = f"it has {', '.join(bridge.needs)}" if bridge.needs else "it has none of a policy's other numbers"
        raise UsageError(
            f"the {bridge.name} bridge cannot give {', '.join(unmet)}, which {stack.canonical} needs ({has}); "
            "choose parameters that do not need it, such as beta=0"
        )
    if stack.direct:
        raise UsageError(
            f"the {bridge.name} bridge cannot carry {stack.direct!r}: its loss scores other tokens with gradient"
        )


def table(bridges: Collection[Bridge] = (TRL, VERL)) -> str:
    """The Markdown table of every hook and need, one column a bridge."""
    lines = [
        f"| hook | {' | '.join(bridge.name for bridge in bridges)} |",
        f"|---|{'---|' * len(bridges)}",
    ]
    for hook in HOOKS:
        cells = [bridge.carried.get(hook) or f"**no**: {bridge.refused[hook]}" for bridge in bridges]
        lines.append(f"| `{hook}` | {' | '.join(cells)} |")
    for need in NEEDS:
        cells = [bridge.needs.get(need, "**no**") for bridge in bridges]
        lines.append(f"| needs `{need}` | {' | '.join(cells)} |")
    return "\n".join(lines)
