"""The method stands with others: a wrapper on top, another base below, or a conflict that it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.conformance.compare import apart
from harness.conformance.lab import Lab
from harness.conformance.reference import Halve, ZScore
from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed, UsageError, told
from harness.host import build_stack, parse_stack
from harness.training.loop import step

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

WRAPPER, BASES = "f-grpo", ("dapo", "dr-grpo", "rloo")
HALF = 1e-9


def check(bench: Bench) -> str:
    """Halved advantages are half; a step with another wrapper and one on another base run."""
    subject = bench.subject
    names = {spec.name for spec in parse_stack(subject.stack)}
    said = [_halved(bench)]
    stacks = [f"{subject.stack}+{WRAPPER}"] if WRAPPER in subject.catalogue and WRAPPER not in names else []
    said += [_runs(bench, stack) for stack in [*stacks, f"{_base(bench)}+{subject.stack}"]]
    return "; ".join(said)


def _base(bench: Bench) -> str:
    """The first base of the list that is installed and does not bring the method along."""
    subject = bench.subject
    used = {seat.entry.slug for seat in subject.built.seats if seat.given}
    for name in BASES:
        if name in subject.catalogue:
            brought = {seat.entry.slug for seat in build_stack(name, subject.catalogue).seats}
            if not used & brought:
                return name
    return str(ZScore.info.slug)  # type: ignore[attr-defined]


def _halved(bench: Bench) -> str:
    """A wrapper round the advantages has the effect that it has anywhere."""
    subject = bench.subject
    slug = Halve.info.slug  # type: ignore[attr-defined]
    alone = bench.fresh(warm=0).outcome()
    halved = Lab(f"{subject.stack}+{slug}", subject.catalogue, seed=bench.seed, warm=0).outcome()
    if not alone.rows:
        return "nothing trains on the probe"
    one, other = alone.rows["advantages"], halved.rows.get("advantages")
    if other is None or apart(one / 2, other) > HALF:
        raise CheckFailed("a wrapper that halves the advantages does not halve them")
    return "advantages wrap"


def _runs(bench: Bench, stack: str) -> str:
    """A real step of a stack. A refusal of the host is an answer; any other fault is not."""
    subject = bench.subject
    conflicts = subject.seat.info.claims.conflicts
    try:
        trial = tiny_trial(stack, subject.catalogue, seed=bench.seed)
    except UsageError as refusal:
        clash = any(spec.name in conflicts for spec in parse_stack(stack))
        return f"{stack} conflicts, as declared" if clash else f"{stack} is refused ({refusal})"
    try:
        step(trial.context, trial.lag, 0)
    except Exception as fault:
        if "was not called by the end of step" in str(fault):
            return f"{stack} is refused ({fault})"
        hint = "what cannot stand together says so: @method(conflicts=(...))"
        raise CheckFailed(f"{stack}: {told(fault)}; {hint}") from fault
    return f"{stack} runs"
