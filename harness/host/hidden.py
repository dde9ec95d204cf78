"""Finding implementations of a stack that nothing will ever call, and naming who hides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.errors import PluginError, UsageError
from harness.hookspecs import HOOKS, HookSpecs
from harness.host.parsing import parse_stack

if TYPE_CHECKING:
    from harness.host.stack import Seat

__all__ = ["EXEMPT", "FIRST", "PASSING", "check_called", "check_order"]

FIRST = frozenset(hook for hook in HOOKS if getattr(HookSpecs, hook).harness_spec["firstresult"])
PASSING = frozenset({"next_round"})  # None passes to the plugin below
EXEMPT = frozenset({"start", "build", "annotate", "end_step"})

_LOSS_STAGE = ("aggregate", "policy_loss", "loss", "regularize")


def check_order(seats: Sequence[Seat]) -> None:
    """Raise UsageError if a plain implementation of the user's stack lies below another one.

    A plugin written out as the base of one to its right stands in for that base, so what the other replaces is no
    fault, as long as something of it is left.
    """
    for position, seat in enumerate(seats):
        if not seat.given:
            continue
        hooks = _hidden_hooks(seats, position)
        if not hooks or (_is_base_of_above(seats, position) and len(hooks) < len(seat.info.hooks)):
            continue
        hook, above = next(iter(hooks.items()))
        listed = ", ".join(hooks)
        raise UsageError(
            f"{above!r} hides {listed} of {seat.label!r} in {_spelled(seats)!r}: of the plain implementations of "
            f"{hook} the rightmost wins. Put {seat.label!r} to the right of {above!r}, or leave one out"
        )


def _hidden_hooks(seats: Sequence[Seat], position: int) -> dict[str, str]:
    """{hook: label of the seat above that replaces it} of one seat."""
    hidden = {}
    for hook, kind in seats[position].info.hooks.items():
        if kind == "plain" and hook in FIRST - PASSING:
            above = [seat.label for seat in seats[position + 1 :] if seat.info.hooks.get(hook) == "plain"]
            if above:
                hidden[hook] = above[-1]
    return hidden


def _is_base_of_above(seats: Sequence[Seat], position: int) -> bool:
    name = seats[position].entry.slug
    bases = [seat.info.base for seat in seats[position + 1 :] if seat.info.base]
    return any(spec.name == name for base in bases for spec in parse_stack(base))


def _spelled(seats: Sequence[Seat]) -> str:
    return "+".join(str(seat.spec) for seat in seats if seat.given)


def check_called(
    seats: Sequence[Seat], called: frozenset[tuple[str, str]], calls: Mapping[str, int], step: int
) -> None:
    """Raise PluginError for an implementation of the user's stack that no call has reached by the end of a step.

    called: (label, hook) that ran; calls: how often each hook was called. Hooks that the step did not come to (one
    round only, nothing kept) are not judged; a loss that never asks for `policy_loss` hides it and its wrappers.
    """
    trained = any(calls.get(hook) for hook in _LOSS_STAGE)
    for position, seat in enumerate(seats):
        replaced = _hidden_hooks(seats, position)
        for hook in seat.info.hooks:
            judged = hook not in EXEMPT | PASSING and (calls.get(hook) or (trained and hook in _LOSS_STAGE))
            if not seat.given or not judged or (seat.label, hook) in called or hook in replaced:
                continue
            raise PluginError(
                f"{seat.label}.{hook} was not called by the end of step {step}: {_hider(seats, hook)}; "
                f"leave {seat.label!r} out of {_spelled(seats)!r}, or what hides it"
            )


def _hider(seats: Sequence[Seat], hook: str) -> str:
    """Who keeps a hook from being called, as far as the stack tells."""
    for stage in ("loss", "update"):
        owner = next((seat.label for seat in reversed(seats) if seat.info.hooks.get(stage) == "plain"), None)
        if owner and hook in _LOSS_STAGE and hook != stage:
            return f"{stage} of {owner!r} never calls {hook}"
    return f"nothing called {hook}"
