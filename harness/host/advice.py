"""What is odd about a stack: normalised twice, parts that do nothing, passes paid for in vain. All of it is measured.

Each statement holds for the made-up batches of `harness.host.bench`, on which parts of the stack are run; what cannot
run on them (it needs a critic's values, say) is named as not measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.host.regime import Regime
from harness.host.remark import MEASURED, Remark

if TYPE_CHECKING:
    from harness.host.stack import Stack

__all__ = ["Remark", "remarks"]


def remarks(stack: Stack, regime: Regime | None = None, weights: Mapping[str, float] | None = None) -> list[Remark]:
    """What the stack's author may not have meant; regime: None for one on-policy update a batch.

    weights: those of the reward columns of a suite, where there is one.
    """
    empty = [seat.label for seat in stack.seats if not seat.info.hooks]
    found = [Remark("inert", "", (label,), f"{label!r} implements no hook") for label in empty]
    if any(hook in MEASURED for seat in stack.seats for hook in seat.info.hooks):
        from harness.host.bench import Bench  # torch is imported for what is measured only
        from harness.host.inert import inert_parts
        from harness.host.normalising import double_normalisation

        bench = Bench(stack.seats)
        found += double_normalisation(bench) + inert_parts(bench, regime or Regime())
        found += _beyond(stack, weights or {})
        for (label, hook), reason in bench.failures.items():
            text = reason if reason.startswith("plugin ") else f"{hook} of {label!r}: {reason}"
            found.append(Remark("not measured", "", (label,), text))
    return _merged(found)


def _beyond(stack: Stack, weights: Mapping[str, float]) -> list[Remark]:
    """What is said of a stack that trains on reward columns which the suite weighs 0."""
    from harness.host.unweighed import unweighed

    columns = unweighed(stack, weights)
    if not columns:
        return []
    text = f"it trains on {' and '.join(columns)}, which the suite weighs 0: a label that others do without"
    return [Remark("unweighed", "", (), text)]


def _merged(found: list[Remark]) -> list[Remark]:
    """Remarks of one plugin that say the same of several hooks, as one."""
    merged: dict[tuple[object, ...], Remark] = {}
    for remark in found:
        key = (remark.kind, remark.plugins, remark.text)
        if key in merged:
            hook = f"{merged[key].hook}, {remark.hook}"
            merged[key] = dataclasses.replace(merged[key], hook=hook)
        else:
            merged[key] = remark
    return list(merged.values())
