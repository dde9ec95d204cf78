"""Hooks return new values: what they were given is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.conformance.bench import Bench


def check(bench: Bench) -> str:
    """Every tensor argument of every hook call of two steps and a probe, before and after."""
    assert bench.outcome is not None
    assert bench.rehearsal.journal is not None
    found = list(dict.fromkeys(bench.rehearsal.journal.mutated))
    if found:
        raise CheckFailed("; ".join(found[:3]) + "; return a new tensor instead")
    return "all arguments of all hooks are as they were"
