"""The method stands with others: a wrapper on top, another base below, or a conflict that it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.conformance.compare import apart
from harness.conformance.partners import above, below
from harness.conformance.reference import Halve, ZScore
from harness.conformance.rehearsal import Rehearsal
from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed, Refusal, told
from harness.host import parse_stack
from harness.training.loop import step

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

HALF = 1e-9


def check(bench: Bench) -> str:
    """Halved advantages are half; a step with a partner on top and one on another below run."""
    subject = bench.subject
    said = [_halved(bench)]
    top = above(subject)
    base = below(subject) or ZScore.info.slug  # type: ignore[attr-defined]
    stacks = [f"{subject.stack}+{top}"] if top else []
    said += [_runs(bench, stack) for stack in [*stacks, f"{base}+{subject.stack}"]]
    return "; ".join(said)


def _halved(bench: Bench) -> str:
    """A wrapper round the advantages has the effect that it has anywhere."""
    subject = bench.subject
    slug = Halve.info.slug  # type: ignore[attr-defined]
    alone = bench.fresh(warm=0).outcome()
    halved = Rehearsal(f"{subject.stack}+{slug}", subject.catalogue, seed=bench.seed, warm=0).outcome()
    if not alone.rows:
        return "nothing trains on the probe"
    one, other = alone.rows["advantages"], halved.rows.get("advantages")
    if other is None or apart(one / 2, other) > HALF:
        raise CheckFailed("a wrapper that halves the advantages does not halve them")
    return "advantages wrap"


def _runs(bench: Bench, stack: str) -> str:
    """A real step of a stack. That the host refuses it is an answer; any other fault is not."""
    subject = bench.subject
    try:
        trial = tiny_trial(stack, subject.catalogue, seed=bench.seed)
        step(trial.context, trial.lag, 0)
    except Refusal as refusal:
        conflicts = subject.seat.info.claims.conflicts
        clash = any(spec.name in conflicts for spec in parse_stack(stack))
        return f"{stack} conflicts, as declared" if clash else f"{stack} is refused ({refusal})"
    except Exception as fault:
        hint = "what cannot stand together says so: @method(conflicts=(...))"
        raise CheckFailed(f"{stack}: {told(fault)}; {hint}") from fault
    return f"{stack} runs"
