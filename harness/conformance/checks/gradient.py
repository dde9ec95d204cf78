"""The gradient that training takes is that of the loss, by finite differences in float64.

What a loss holds still on purpose (`detach`, `no_grad`) is held still in the differences too: the values of the first
evaluation are played back in the others, so that surrogates whose value means nothing are compared rightly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from harness.conformance.results import NotApplicable
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.conformance.bench import Bench
    from harness.conformance.rehearsal import Leaves, Rehearsal, Said

STEP = 1e-6
TOLERANCE = 1e-5
DIRECTIONS = 3
STOPS = frozenset({torch.Tensor.detach, torch.detach, torch.Tensor.data.__get__})  # type: ignore[attr-defined]


class Misplaced(Exception):  # noqa: N818 - leads to an answer
    """Another evaluation stops other gradients than the first did."""


class HeldStill(TorchFunctionMode):
    """Records what `detach` and `no_grad` hold still, or plays it back."""

    def __init__(self, tape: list[tuple[Any, Any]] | None = None) -> None:
        super().__init__()
        self.tape: list[tuple[Any, Any]] = []
        self._play = tape

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func not in STOPS and torch.is_grad_enabled():
            return result
        if any(result is argument for argument in args):  # written in place: its inputs are held still already
            return result
        number = len(self.tape)
        self.tape.append((func, result))
        if self._play is None:
            return result
        if number >= len(self._play) or self._play[number][0] is not func:
            raise Misplaced
        return self._play[number][1]


def check(bench: Bench) -> str:
    """Along random directions of everything that the policy said."""
    rehearsal = bench.rehearsal
    with rehearsal.moment():
        batch = rehearsal.prepare(rehearsal.probe)
        if batch is None:
            raise NotApplicable("nothing of the probe trains")
        said = rehearsal.said(batch)
    noise, leaves = torch.Generator().manual_seed(bench.seed), said.leaves()
    base = {name: x.detach() for name, x in leaves.items()}
    with _before_loss(rehearsal, said), HeldStill() as held:
        gradients = _gradients(rehearsal, said, leaves)
    if not any(bool(x.any()) for x in gradients.values()):
        raise NotApplicable("the loss has no gradient on the probe")
    compared = []
    for name, gradient in gradients.items():
        taken = bool(gradient.any()) or name == "logp"
        for _ in range(DIRECTIONS if taken else 1):  # what has no gradient must not move the loss
            direction = torch.randn(gradient.shape, dtype=gradient.dtype, generator=noise)
            if gradient.shape[:2] == batch.mask.shape:
                on = (batch.mask > 0).reshape(*batch.mask.shape, *[1] * (gradient.dim() - 2))
                direction = torch.where(on, direction, torch.zeros_like(direction))
            _compare(name, gradient, direction, lambda moved: _value(rehearsal, said, moved, held.tape), base)
        compared += [name] * taken
    return f"of {', '.join(compared)}, along {DIRECTIONS} directions each"


def _compare(
    name: str, gradient: Tensor, direction: Tensor, value: Callable[[Leaves], float], base: Mapping[str, Tensor]
) -> None:
    try:
        up = value({**base, name: base[name] + STEP * direction})
        down = value({**base, name: base[name] - STEP * direction})
    except Misplaced:
        raise NotApplicable(
            "what the loss detaches changes with the log-probabilities: no fixed loss to compare"
        ) from None
    measured, taken = (up - down) / (2 * STEP), float((gradient * direction).sum())
    scale = max(abs(measured), abs(taken), float(gradient.norm() * direction.norm()) * 1e-3, 1e-12)
    if abs(measured - taken) > TOLERANCE * scale:
        raise CheckFailed(
            f"the loss changes by {measured:.6g} along a direction of {name} where its gradient says {taken:.6g}; "
            "what is meant to have no gradient needs .detach()"
        )


@contextlib.contextmanager
def _before_loss(rehearsal: Rehearsal, said: Said) -> Iterator[None]:
    """The same state of plugins and generators for every evaluation of the loss."""
    with rehearsal.moment():
        rehearsal.context.state.gathered = said.batch
        yield


def _gradients(rehearsal: Rehearsal, said: Said, leaves: Leaves) -> dict[str, Tensor]:
    loss, extra, _ = rehearsal.objective(said, leaves)
    total = loss + extra
    floating = {name: x for name, x in leaves.items() if x.is_floating_point()}
    if not total.requires_grad:
        return {name: torch.zeros_like(x) for name, x in floating.items()}
    found = torch.autograd.grad(total, list(floating.values()), allow_unused=True)
    return {
        name: torch.zeros_like(x) if gradient is None else gradient
        for (name, x), gradient in zip(floating.items(), found, strict=True)
    }


def _value(rehearsal: Rehearsal, said: Said, leaves: Leaves, tape: list[tuple[Any, Any]]) -> float:
    """The loss at other values, from the same state of the plugins."""
    leaves = {name: x.clone().requires_grad_() if x.is_floating_point() else x for name, x in leaves.items()}
    with _before_loss(rehearsal, said), HeldStill(tape):
        loss, extra, _ = rehearsal.objective(said, leaves)
    return float((loss + extra).detach())
