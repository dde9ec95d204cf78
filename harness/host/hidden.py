"""Finding implementations of a stack that nothing will ever call, and naming who hides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.errors import NeverCalled, StackRefused
from harness.hookspecs import HOOKS, HookSpecs

if TYPE_CHECKING:
    from harness.host.stack import Seat

__all__ = ["EXEMPT", "FIRST", "PASSING", "check_called", "check_order"]

FIRST = frozenset(hook for hook in HOOKS if getattr(HookSpecs, hook).harness_spec["firstresult"])
PASSING = frozenset({"next_round"})  # None passes to the plugin below
EXEMPT = frozenset({"start", "build", "annotate", "end_step"})

_LOSS_STAGE = ("aggregate", "policy_loss", "loss", "regularize")


def check_order(seats: Sequence[Seat]) -> None:
    """Raise StackRefused if all that a plugin of the user's stack implements is replaced by plugins to its right.

    To replace a part is what stacking is for: `dr-grpo+delta-l` keeps the advantages of the one and takes the weights
    of the other, `explain` shows it.
    """
    for position, seat in enumerate(seats):
        hidden = _hidden_hooks(seats, position)
        left = set(seat.info.hooks) - EXEMPT - set(hidden)
        if seat.given and hidden and not left:
            above = next(iter(hidden.values()))
            raise StackRefused(
                f"{above!r} hides {', '.join(hidden)} of {seat.label!r} in {_spelled(seats)!r}, so {seat.label!r} does "
                f"nothing: the rightmost plain implementation wins. Put {seat.label!r} further right, or leave it out"
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


def _spelled(seats: Sequence[Seat]) -> str:
    return "+".join(str(seat.spec) for seat in seats if seat.given)


def check_called(
    seats: Sequence[Seat], called: frozenset[tuple[str, str]], calls: Mapping[str, int], step: int
) -> None:
    """Raise NeverCalled for a plugin of the user's stack that no call has reached by the end of a step, in part for a
    wrapper, altogether for plain implementations.

    called: (label, hook) that ran; calls: how often each hook was called. Hooks that the step did not come to (one
    round only, nothing kept) are not judged; a loss that never asks for `policy_loss` hides it and its wrappers.
    """
    trained = any(calls.get(hook) for hook in _LOSS_STAGE)
    for position, seat in enumerate(seats):
        judged = {hook for hook in seat.info.hooks if calls.get(hook) or (trained and hook in _LOSS_STAGE)}
        judged -= EXEMPT | PASSING | set(_hidden_hooks(seats, position))
        missed = {hook for hook in judged if (seat.label, hook) not in called}
        wrapper = next(
            (hook for hook in seat.info.hooks if hook in missed and seat.info.hooks[hook] == "wrapper"), None
        )
        if seat.given and missed and (wrapper or missed == judged):
            hook = wrapper or next(hook for hook in seat.info.hooks if hook in missed)
            raise NeverCalled(
                f"{hook} of {seat.label!r} was not called by the end of step {step}: {_hider(seats, hook)}; "
                f"leave {seat.label!r} out of {_spelled(seats)!r}, or what hides it"
            )


def _hider(seats: Sequence[Seat], hook: str) -> str:
    """Who keeps a hook from being called, as far as the stack tells."""
    for stage in ("loss", "update"):
        owner = next((seat.label for seat in reversed(seats) if seat.info.hooks.get(stage) == "plain"), None)
        if owner and hook in _LOSS_STAGE and hook != stage:
            return f"{stage} of {owner!r} never calls {hook}"
    return f"nothing called {hook}"
