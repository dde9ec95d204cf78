"""float32 gives what float64 gives."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import rewarded, unchanged
from harness.conformance.results import NotApplicable
from harness.errors import CheckFailed, told

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.conformance.bench import Bench

TOLERANCE = 2e-3  # of the largest entry: a standard deviation of near-equal rewards magnifies rounding


def check(bench: Bench) -> str:
    """The same rows and weights in both, on the probe and on groups of three equal rewards of 0.1, 0.3, 0.7, ..."""
    wide, narrow = bench.fresh(warm=0), bench.fresh(warm=0, dtype="float32")
    if len(wide.probe) != len(narrow.probe):
        raise CheckFailed(f"asks for {len(narrow.probe)} rows in float32 and {len(wide.probe)} in float64")
    shared = _narrowed(wide.probe)
    for name, change in (("on the probe", unchanged), ("in groups of equal rewards", _tied)):
        try:
            expected = wide.outcome(change)
        except Exception as fault:
            raise NotApplicable(f"{name} it fails in float64 too: {told(fault)}") from fault
        rows = functools.partial(_instead, change(shared))
        try:
            found = narrow.outcome(rows)
        except Exception as fault:
            raise CheckFailed(f"float32, {name}: {told(fault)}") from fault
        require_equal(expected, found, TOLERANCE, f"float32 is not float64 {name}")
    return "on the probe and in groups of equal rewards"


def _instead(other: Batch, batch: Batch) -> Batch:
    del batch
    return other


def _tied(batch: Batch) -> Batch:
    """One group stays as it is; the others hold three times 0.1, 0.3, ..."""
    values = torch.tensor([0.1, 0.3, 0.7, 0.9], dtype=batch.rewards.dtype)[batch.prompt % 4]
    mixed = batch.prompt == 0
    correct = torch.where(mixed, batch.rewards[:, 0], values)
    tied = rewarded(batch, correct, torch.where(mixed, batch.rewards[:, 1], values))
    return tied[(batch.rollout % 4) < 3]


def _narrowed(batch: Batch) -> Batch:
    """All of float64 in float32."""

    def narrow(x: object) -> object:
        if isinstance(x, torch.Tensor):
            return x.float() if x.dtype == torch.float64 else x
        return {name: narrow(item) for name, item in x.items()} if isinstance(x, dict) else x

    return batch.replace(**{field.name: narrow(getattr(batch, field.name)) for field in dataclasses.fields(batch)})
