"""Whether advantages are standardised twice: each part of the chain is given the same at another scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from torch import Tensor

from harness.batch import Batch
from harness.host.bench import GIVEN, Bench, Values, alike, make_batch
from harness.host.regime import Regime
from harness.host.remark import Remark
from harness.host.stack import Seat

__all__ = ["double_normalisation"]

_SCALE = 8.0
_TOLERANCE = 0.02  # what an eps beside a standard deviation changes
_SEEDS = (1, 2)

Step = Callable[[int, float], Values | None]  # (seed of what goes in, its scale) -> what comes out


@dataclasses.dataclass(frozen=True)
class _Part:
    """One implementation on the way from rewards to advantages, and what it makes of what it is given."""

    hook: str
    label: str
    step: Step
    discards: bool  # whether it would be the work of another plugin that it leaves unread


def double_normalisation(bench: Bench) -> list[Remark]:
    """A remark where two plugins give the same at every scale of what they get, and one for each that ignores it."""
    parts = _parts(bench)
    free = [part for part in parts if _scale_free(part.step)]
    labels = tuple(dict.fromkeys(part.label for part in free))
    found = []
    if len(labels) > 1:  # twice within one plugin is how its paper has it
        names = ", then ".join(f"{part.hook} of {part.label!r}" for part in free)
        text = f"{names}: what each gives stays the same when what it gets is scaled, so the later undoes the earlier"
        found.append(Remark("double normalisation", "", labels, text))
    for part in parts:
        if part.discards and _blind(part.step):
            text = f"{part.label!r} gives the same whatever is computed below it"
            found.append(Remark("discarded", part.hook, (part.label,), text))
    return found


def _parts(bench: Bench) -> list[_Part]:
    """Every part of the way from rewards to advantages, in the order of the calls."""
    parts = []
    for hook, plain, around in (
        ("shape_rewards", _shaping, _shaping),
        ("estimate_advantages", _estimating, _wrapping),
    ):
        for position, seat in enumerate(bench.chain(hook)):
            wraps = seat.info.hooks[hook] == "wrapper"
            step = (around if wraps else plain)(bench, seat)
            parts.append(_Part(hook, seat.label, step, discards=wraps and position > 0))
    return parts


def _batch(seed: int) -> Batch:
    """Rewards drawn by `seed` over rows that are always the same, verdicts and lengths included."""
    return make_batch(0, Regime()).replace(rewards=make_batch(seed, Regime()).rewards)


def _shaping(bench: Bench, seat: Seat) -> Step:
    def step(seed: int, scale: float) -> Values | None:
        batch = _batch(seed)
        found = bench.run("shape_rewards", [seat], batch.replace(rewards=batch.rewards * scale), Regime())
        return found and ((found[0].nan_to_num() * found[1]).sum(-1),)

    return step


def _estimating(bench: Bench, seat: Seat) -> Step:
    def step(seed: int, scale: float) -> Values | None:
        batch = _batch(seed)
        return bench.run("estimate_advantages", [seat], batch.replace(rewards=batch.rewards * scale), Regime())

    return step


def _wrapping(bench: Bench, seat: Seat) -> Step:
    def step(seed: int, scale: float) -> Values | None:
        batch = make_batch(0, Regime())
        below: Tensor = batch.groups.center(make_batch(seed, Regime()).reward)[:, None]
        return bench.run("estimate_advantages", [GIVEN, seat], batch.with_extras(given=below * scale), Regime())

    return step


def _scale_free(step: Step) -> bool:
    """Whether the result follows what goes in, but not its scale."""
    for seed in _SEEDS:
        found = step(seed, 1.0)
        if found is None or not alike(found, step(seed, _SCALE), tolerance=_TOLERANCE):
            return False
    return not _blind(step)


def _blind(step: Step) -> bool:
    """Whether the result is the same whatever goes in."""
    one, other = (step(seed, 1.0) for seed in _SEEDS)
    return alike(one, other, tolerance=_TOLERANCE)
