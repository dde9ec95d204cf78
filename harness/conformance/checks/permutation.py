"""Rows and groups in another order: the same result, in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import permuted, rewarded
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.conformance.bench import Bench

TOLERANCE = 1e-9


def check(bench: Bench) -> str:
    """Without ties first; then with them, where "the first of equals" shows."""
    seed = bench.seed + 1
    moved = bench.lab.outcome(lambda batch: permuted(batch, seed))
    require_equal(bench.outcome, moved, TOLERANCE, "in another order of rows and groups")
    straight, moved = bench.lab.outcome(_tied), bench.lab.outcome(lambda batch: permuted(_tied(batch), seed))
    try:
        require_equal(straight, moved, TOLERANCE, "in another order of rows with equal rewards")
    except CheckFailed as fault:
        raise CheckFailed(f"{fault} (without ties it holds)") from None
    return "rows, groups, ties"


def _tied(batch: Batch) -> Batch:
    """Rewards of two values, so that every group has ties."""
    return rewarded(batch, batch.correct.to(torch.float64), batch.correct.to(torch.float64))
