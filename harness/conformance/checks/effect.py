"""A method that does nothing fails; a control that is to do nothing must do exactly nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import apart, differences
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.conformance.lab import Lab

TOLERANCE = 1e-9  # relative: less is rounding
SHOWS = {
    "rows": ("augment", "keep", "generate"), "reward": ("score", "shape_rewards"), "mask": ("train_on", "keep"),
    "advantages": ("estimate_advantages", "shape_rewards", "score"), "weights": ("aggregate",),
}  # fmt: skip
LOSS = ("policy_loss", "loss", "regularize", "aggregate", "train_on", "estimate_advantages")


def check(bench: Bench) -> str:
    """Compare with what lies below: the loss and gradient of a probe, the step's other hooks, the weights after it."""
    below = bench.subject.below
    base, expected = bench.other(below)
    info = bench.subject.seat.info
    found = differences(bench.outcome, expected, 0.0 if info.claims.identity else TOLERANCE)
    acted = [hook for hook in info.hooks if _returned(bench.lab, hook) != _returned(base, hook)]
    moved = apart(_weights(bench.lab), _weights(base))
    if info.claims.identity:
        if found or acted or moved:
            what = ", ".join([*found, *acted]) or "the trained weights"
            raise CheckFailed(f"declared an identity, but differs from {below} in {what}")
        return f"an identity, as declared: every number is that of {below}"
    if not (found or acted or moved > TOLERANCE):
        raise CheckFailed(
            f"does nothing: loss, gradient, sampling and updates are those of {below}; "
            "a control that is to change nothing says @method(identity=True)"
        )
    hooks = [hook for hook in info.hooks if hook in acted or any(hook in _suspects(name) for name in found)]
    if not hooks:
        hooks = [hook for hook in info.hooks if hook in {*LOSS, "build", "start"}]
    if not hooks:
        raise CheckFailed(f"differs from {below} in {', '.join(found)}, which no hook that it declares explains")
    return f"differs from {below} in {', '.join(hooks)}"


def _suspects(name: str) -> tuple[str, ...]:
    return LOSS if name.startswith("gradient") else SHOWS.get(name, ())


def _returned(lab: Lab, hook: str) -> list[str]:
    assert lab.journal is not None
    return lab.journal.returned.get(hook, [])


def _weights(lab: Lab) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in lab.context.policy.model.parameters()]).to(torch.float64)
