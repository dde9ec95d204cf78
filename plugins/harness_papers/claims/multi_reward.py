"""Claims of methods for several rewards."""

from __future__ import annotations

import itertools

from harness.claims import Evidence, claim
from harness.probe import advantages

__all__ = ["distinct_advantages"]


@claim("gdpo", "Combinations of rewards that GRPO gives one advantage keep distinct ones.")
def distinct_advantages() -> Evidence:
    """Two binary rewards, two completions: the number of different pairs of advantages over all groups."""
    outcomes = list(itertools.product((0.0, 1.0), repeat=2))
    groups = list(itertools.combinations_with_replacement(outcomes, 2))
    rewards = [list(outcome) for group in groups for outcome in group]
    keys = [number for number in range(len(groups)) for _ in range(2)]

    def distinct(method: str) -> int:
        found = advantages(method, rewards, keys).round(6).reshape(-1, 2)
        return len({tuple(sorted(pair)) for pair in found.tolist()})

    ours, theirs = distinct("gdpo"), distinct("grpo(beta=0)")
    return Evidence(ours > theirs, {"distinct under gdpo": ours, "under grpo": theirs})
