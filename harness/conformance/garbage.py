"""Garbage where the mask is 0: what is said of tokens that do not count may have no influence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.conformance.compare import require_equal
from harness.conformance.probe_batch import unchanged, with_holes
from harness.errors import CheckFailed, told

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.conformance.bench import Bench
    from harness.conformance.outcome import Outcome
    from harness.conformance.probe_batch import Edit
    from harness.conformance.rehearsal import Leaves

__all__ = ["require_no_influence"]

TOLERANCE = 1e-9
HINT = " (choose with torch.where or harness.mathematics.masked before computing)"


def require_no_influence(bench: Bench) -> None:
    """Raise CheckFailed where something else at masked-out places, after completions or within them, changes a result.

    What is not known of a token may be NaN there, which a product with the mask keeps.
    """
    for where, change in (("after completions", unchanged), ("in holes of the mask", with_holes)):
        expected = bench.outcome if change is unchanged else bench.rehearsal.outcome(change)
        for what, shift in (("other numbers", -3.0), ("NaN", math.nan)):
            said = f"with {what} at masked-out tokens {where}{HINT if math.isnan(shift) else ''}"
            try:
                found = _with_garbage(bench, change, shift)
            except Exception as fault:
                raise CheckFailed(f"{said}: {told(fault)}") from fault
            if found is not None:
                require_equal(expected, found, TOLERANCE, said)


def _with_garbage(bench: Bench, change: Edit, shift: float) -> Outcome | None:
    """The step after a change with `shift` added to all that is known of tokens that the mask leaves out."""
    rehearsal = bench.rehearsal
    masked_out: list[Tensor] = []
    with rehearsal.moment():
        batch = rehearsal.prepare(_garbage(change(rehearsal.probe), shift), lambda x: _garbage(x, shift, masked_out))
        if batch is None:
            return None
        return rehearsal.lose(rehearsal.said(batch), lambda leaves: _garbage_leaves(leaves, masked_out[0], shift))


def _garbage(batch: Batch, shift: float, masked_out: list[Tensor] | None = None) -> Batch:
    """Other numbers at places that the mask leaves out; `masked_out` takes these, [N, T]."""
    out = batch.mask == 0
    if masked_out is not None:
        masked_out.append(out)
    names = ("logp_sampler", "logp_old", "logp_ref", "entropy")
    held = {name: x for name in names if (x := getattr(batch, name)) is not None}
    return batch.replace(**{name: torch.where(out, x + shift, x) for name, x in held.items()})


def _garbage_leaves(leaves: Leaves, out: Tensor, shift: float) -> Leaves:
    """The same for what the policy, and modules with a number a token, say with gradient."""
    changed = dict(leaves)
    for name, leaf in leaves.items():
        if leaf.is_floating_point() and leaf.shape == out.shape:
            changed[name] = torch.where(out, leaf.detach() + shift / 2, leaf.detach()).requires_grad_()
    return changed
