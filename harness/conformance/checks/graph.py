"""No plugin holds on to an autograd graph after a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.conformance.plugin_state import graphs
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.conformance.bench import Bench


def check(bench: Bench) -> str:
    """Attributes of the plugins after two steps, however deep."""
    found = graphs(bench.lab.trial.stack)
    if found:
        raise CheckFailed(f"{', '.join(found)} keeps a graph, and with it a step's memory; store x.detach()")
    return "no attribute holds one"
