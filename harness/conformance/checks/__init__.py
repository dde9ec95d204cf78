"""The checks, a module each: a function of a `Bench` that returns what holds, or raises.

CheckFailed is a failure, `NotApplicable` and `Warned` are answers of their own; any other error is a failure too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.conformance.bench import Bench

__all__ = ["CHECKS", "Check", "find"]

Check = Callable[["Bench"], str]

# name -> what it asks, in the order of a report
CHECKS: dict[str, str] = {
    "metadata": "name, source, docstring, hooks, defaults, needs",
    "effect": "the method differs from its base in a hook that it declares",
    "reduction": "neutral parameters give the base",
    "edges": "ties, groups of one, empty and truncated completions, missing rewards: finite, mask respected",
    "permutation": "another order of rows and groups permutes the result",
    "padding": "more padding changes nothing",
    "micro-batches": "1, 2, 4 or all rows a pass give the same gradient",
    "determinism": "two runs are equal, and no global random state is used",
    "mutation": "hooks leave their arguments alone",
    "graph": "no autograd graph is kept across steps",
    "state": "save, load and go on is the same as going on, bit for bit",
    "precision": "float32 agrees with float64",
    "gradient": "the gradient is that of the loss, by finite differences",
    "composition": "wrappers on top and another base below",
    "loops": "no loop over rows or groups, in lines of Python or in torch operations",
    "scale": "time grows with the rows as that of a z-score",
}


def find(name: str) -> Check:
    """The function of a check."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    check: Check = module.check
    return check
