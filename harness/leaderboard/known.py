"""What to say where a board has no row of a name: the row that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.errors import nearest

__all__ = ["bare", "instead"]

PARAMETERS = re.compile(r"\([^()]*\)")
DISTRIBUTION = re.compile(r"@[\w.-]+")


def bare(stack: str) -> str:
    """A stack by the names of its plugins alone: 'grpo(beta=0)+placebo' is 'grpo+placebo'."""
    while PARAMETERS.search(stack):
        stack = PARAMETERS.sub("", stack)
    return re.sub(r"\s+", "", DISTRIBUTION.sub("", stack)).lower()


def instead(name: str, known: Iterable[str]) -> str:
    """' This board has X.' for the rows of the same plugins with other parameters, else the nearest name."""
    rows = list(known)
    same = [row for row in rows if bare(row) == bare(name)]
    return f" This board has {' and '.join(same)}." if same else nearest(name, rows)
