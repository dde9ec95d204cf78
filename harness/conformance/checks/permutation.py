"""Rows and groups in another order: the same result, in that order."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import Edit, permuted, rewarded, unchanged
from harness.conformance.scored import require_same_scores, turned
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.conformance.bench import Bench

TOLERANCE = 1e-9


def check(bench: Bench) -> str:
    """Without ties first; then with them, where "the first of equals" shows."""
    require_same_scores(bench, turned, "in another order of requests")
    shuffles = [functools.partial(permuted, seed=3 * bench.seed + i) for i in range(2)]
    orders: list[Edit] = [_backwards, *shuffles]
    for order in orders:
        moved = bench.rehearsal.outcome(order)
        require_equal(bench.outcome, moved, TOLERANCE, "in another order of rows and groups")
    straight = bench.rehearsal.outcome(_tied)
    for order in orders:
        moved = bench.rehearsal.outcome(functools.partial(_tied, order=order))
        try:
            require_equal(straight, moved, TOLERANCE, "in another order of rows with equal rewards")
        except CheckFailed as fault:
            raise CheckFailed(f"{fault} (without ties it holds)") from None
    return "rows, groups, ties"


def _backwards(batch: Batch) -> Batch:
    """The last row first, the last group named first."""
    return batch.replace(prompt=batch.prompt.max() - batch.prompt)[torch.arange(len(batch) - 1, -1, -1)]


def _tied(batch: Batch, order: Edit = unchanged) -> Batch:
    """Rewards of two values, so that every group has ties; in another order if one is given."""
    return order(rewarded(batch, batch.correct.to(torch.float64), batch.correct.to(torch.float64)))
