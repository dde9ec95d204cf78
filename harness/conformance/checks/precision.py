"""float32 gives what float64 gives."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import torch

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import Edit, rewarded, unchanged, unit
from harness.conformance.results import NotApplicable
from harness.errors import CheckFailed, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.batch import Batch
    from harness.conformance.bench import Bench
    from harness.conformance.outcome import Outcome

DUST = 1e-5  # of the largest entry on the probe
TOLERANCE = 2e-3  # of the largest entry: a standard deviation of near-equal rewards magnifies rounding


def check(bench: Bench) -> str:
    """The same rows and weights in both, on the probe, on equal rewards and where one completion stands alone."""
    wide, narrow = bench.fresh(warm=0), bench.fresh(warm=0, dtype="float32")
    if len(wide.probe) != len(narrow.probe):
        raise CheckFailed(f"asks for {len(narrow.probe)} rows in float32 and {len(wide.probe)} in float64")
    shared = _narrowed(wide.probe)
    scales: dict[str, float] = {}
    for name, change in BATCHES.items():
        try:
            expected = wide.outcome(change, after=_uneven)
        except Exception as fault:
            raise NotApplicable(f"{name} it fails in float64 too: {told(fault)}") from fault
        rows = functools.partial(_instead, change(shared))
        try:
            found = narrow.outcome(rows, after=_uneven)
        except Exception as fault:
            raise CheckFailed(f"float32, {name}: {told(fault)}") from fault
        scales = scales or {kind: float(x.abs().max()) for kind, x in expected.rows.items() if x.numel()}
        expected, found = _dusted(expected, scales), _dusted(found, scales)
        require_equal(expected, found, TOLERANCE, f"float32 is not float64 {name}")
    return "on the probe, in groups of equal rewards and of one, with a lone right or wrong one in every group"


def _dusted(outcome: Outcome, scales: Mapping[str, float]) -> Outcome:
    """Without what is nothing beside the probe: the rounding of a 0 is no difference until something magnifies it."""
    rows = {
        kind: torch.where(x.abs() <= DUST * scales.get(kind, 0.0), torch.zeros_like(x), x)
        for kind, x in outcome.rows.items()
    }
    return dataclasses.replace(outcome, rows=rows)


def _uneven(batch: Batch) -> Batch:
    """Entropies that differ between rows and tokens, whatever the policy is."""
    if batch.entropy is None:
        return batch
    factor = 0.2 + 1.6 * unit(batch, 5, per_token=True)
    return batch.replace(entropy=batch.entropy * factor.to(batch.entropy.dtype))


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


def _lone(*, right: bool) -> Edit:
    """The first of every group is right and the others wrong, or the other way round; nothing else counts."""

    def change(batch: Batch) -> Batch:
        alone = torch.zeros_like(batch.rewards[:, 0])
        alone[batch.groups.first] = 1.0
        values = alone if right else 1 - alone
        return rewarded(batch, values, values)

    return change


def _ones(batch: Batch) -> Batch:
    """Groups of one, right and wrong."""
    values = (batch.prompt % 2).to(batch.rewards.dtype)
    return rewarded(batch, values, values)[batch.groups.first]


BATCHES: dict[str, Edit] = {
    "on the probe": unchanged,
    "in groups of equal rewards": _tied,
    "with a lone right one in every group": _lone(right=True),
    "with a lone wrong one in every group": _lone(right=False),
    "in groups of one": _ones,
}


def _narrowed(batch: Batch) -> Batch:
    """All of float64 in float32."""

    def narrow(x: object) -> object:
        if isinstance(x, torch.Tensor):
            return x.float() if x.dtype == torch.float64 else x
        return {name: narrow(item) for name, item in x.items()} if isinstance(x, dict) else x

    return batch.replace(**{field.name: narrow(getattr(batch, field.name)) for field in dataclasses.fields(batch)})
