"""Declared neutral parameters give the base, or whatever stack is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.conformance.compare import require_equal
from harness.conformance.reference import spoken
from harness.conformance.results import NotApplicable
from harness.host.parsing import spell_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from harness.conformance.bench import Bench

TOLERANCE = 1e-9  # float64 with two optimizer steps before it


def check(bench: Bench) -> str:
    """After two real steps, rows, loss and gradient are those of the other stack."""
    subject = bench.subject
    reductions = subject.seat.info.claims.reductions
    if not reductions:
        raise NotApplicable("no neutral parameters are declared: @method(neutral={...})")
    said = []
    for parameters, target in reductions:
        other = target or subject.below
        _, expected = bench.other(other)
        _, found = bench.other(subject.altered(parameters))
        worst = require_equal(found, expected, TOLERANCE, f"{spelled(parameters)} is not {spoken(other)}")
        said.append(
            f"{spelled(parameters)} is {spoken(other)}" + (" bit for bit" if worst == 0 else f" to {worst:.0e}")
        )
    return "; ".join(said)


def spelled(parameters: Mapping[str, Any]) -> str:
    """`alpha=0, kind='a'`."""
    return ", ".join(f"{name}={spell_value(value)}" for name, value in parameters.items())
