"""No plugin holds on to an autograd graph after a step."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from harness.conformance.plugin_state import graphs
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from harness.conformance.bench import Bench


def check(bench: Bench) -> str:
    """Attributes of the plugins after two steps, however deep; then whatever else keeps what the policy said alive."""
    found = graphs(bench.rehearsal.trial.stack)
    if found:
        raise CheckFailed(f"{', '.join(found)} keeps a graph, and with it a step's memory; store x.detach()")
    gc.collect()
    alive = sum(said() is not None for said in bench.rehearsal.said_in_steps)
    if alive:
        raise CheckFailed(
            f"after the steps the log-probabilities of {alive} losses are still held, in a global of a module, say; "
            "store x.detach(), as an attribute of the plugin"
        )
    return "no attribute holds one, and nothing else does"
