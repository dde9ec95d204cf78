"""A method that does nothing fails; a control that is to do nothing must do exactly nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from harness.conformance.checks.edges import EDGES
from harness.conformance.checks.reduction import spelled
from harness.conformance.compare import apart, differences
from harness.conformance.probe_batch import Edit, unchanged
from harness.conformance.reference import spoken
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.conformance.rehearsal import Rehearsal

TOLERANCE = 1e-9  # relative: less is rounding
SHOWS = {
    "rows": ("augment", "keep", "generate"), "reward": ("score", "shape_rewards"), "mask": ("train_on", "keep"),
    "advantages": ("estimate_advantages", "shape_rewards", "score"), "weights": ("aggregate",),
}  # fmt: skip
ASKS = frozenset({"select_prompts", "allocate_rollouts", "generate", "next_round"})
LOSS = ("policy_loss", "loss", "regularize", "aggregate", "train_on", "estimate_advantages")


def check(bench: Bench) -> str:
    """Compare with what lies below: on the probe, then at the edges, then with the parameters declared active."""
    subject = bench.subject
    claims = subject.seat.info.claims
    base, _ = bench.other(subject.below)
    if claims.identity:
        return _identical(bench, base)
    for name, change in {"": unchanged, **EDGES}.items():
        said = _differs(bench, bench.rehearsal, base, change)
        if said:
            return said + (f" (with {name})" if name else "")
    if claims.active:
        rehearsal, _ = bench.other(subject.altered(claims.active))
        said = _differs(bench, rehearsal, base, unchanged)
        if said:
            return f"{said} (with {spelled(claims.active)}, declared active)"
    raise CheckFailed(
        f"does nothing: loss, gradient, sampling and updates are those of {spoken(subject.below)}. A method that acts "
        "late or on rare batches says with which parameters it acts at once, @method(active={...}); a control that is "
        "to change nothing says @method(identity=True)"
    )


def _identical(bench: Bench, base: Rehearsal) -> str:
    below = spoken(bench.subject.below)
    found = list(differences(bench.outcome, base.outcome(), 0.0))
    found += _otherwise(bench, bench.rehearsal, base)
    if found or apart(_weights(bench.rehearsal), _weights(base)):
        raise CheckFailed(f"declared an identity, but differs from {below} in {', '.join(found) or 'weights'}")
    return f"an identity, as declared: every number is that of {below}"


def _differs(bench: Bench, rehearsal: Rehearsal, base: Rehearsal, change: Edit) -> str | None:
    """In which hooks a rehearsal differs from its base's; None if in nothing."""
    info, below = bench.subject.seat.info, spoken(bench.subject.below)
    found = differences(rehearsal.outcome(change), base.outcome(change), TOLERANCE)
    acted = _otherwise(bench, rehearsal, base)
    moved = apart(_weights(rehearsal), _weights(base)) > TOLERANCE
    if not (found or moved or ASKS.intersection(acted)):
        return None
    hooks = [hook for hook in info.hooks if hook in acted or any(hook in _suspects(name) for name in found)]
    if not hooks:
        hooks = [hook for hook in info.hooks if hook in {*LOSS, "build", "start"}]
    if not hooks:
        raise CheckFailed(f"differs from {below} in {', '.join(found)}, which no hook that it declares explains")
    return f"differs from {below} in {', '.join(hooks)}"


def _suspects(name: str) -> tuple[str, ...]:
    return LOSS if name.startswith("gradient") else SHOWS.get(name, ())


def _otherwise(bench: Bench, rehearsal: Rehearsal, base: Rehearsal) -> list[str]:
    """Declared hooks that returned something else in the real steps."""
    hooks = bench.subject.seat.info.hooks
    return [hook for hook in hooks if rehearsal.returned.get(hook, ()) != base.returned.get(hook, ())]


def _weights(rehearsal: Rehearsal) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in rehearsal.context.policy.model.parameters()]).to(torch.float64)
