"""More padding changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import padded
from harness.conformance.scored import require_same_scores, wider

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

TOLERANCE = 1e-9


def check(bench: Bench) -> str:
    """Three columns after the completions and before the prompts."""
    require_same_scores(bench, wider, "with three more padding columns")
    require_equal(bench.outcome, bench.rehearsal.outcome(padded), TOLERANCE, "with three more padding columns")
    return "3 more columns on either side change nothing"
