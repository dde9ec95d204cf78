"""What mappings are written with, from `harness.conformance.mapping`; ours are in `harness_papers.vectors`."""

from harness.conformance.mapping import (
    Case,
    Outcome,
    Run,
    Slip,
    Unmapped,
    broken,
    mappers,
    maps,
    outcome,
    stack,
    watched,
)

__all__ = ["Case", "Outcome", "Run", "Slip", "Unmapped", "broken", "mappers", "maps", "outcome", "stack", "watched"]
