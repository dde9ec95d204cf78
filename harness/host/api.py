"""The version of what plugins see (hooks, their arguments, `Batch`): one integer, and the ranges that plugins ask for.

It is raised when a plugin that worked would no longer: a hook or an argument gone, a meaning changed. What is added
(a hook, an argument, a field) raises nothing.
"""

from __future__ import annotations

import operator
import re

__all__ = ["CONSTANT", "HOST_API", "mismatch"]

HOST_API = 1

CONSTANT = "HOST_API"  # what a module names the range for all of its methods

_COMPARISONS = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_PART = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+)\s*")


def mismatch(wanted: str | None) -> str | None:
    """Why a plugin that wants such a range (">=1,<2") cannot be used, with both versions; None if it can."""
    if wanted is None:
        return None
    parts = [_PART.fullmatch(part) for part in str(wanted).split(",")]
    if not all(parts):
        return f'states a host API that is no range such as ">=1,<2": {wanted!r}'
    if all(_COMPARISONS[part[1]](HOST_API, int(part[2])) for part in parts if part):
        return None
    return f"was written for host API {wanted}, and this harness offers {HOST_API}; {_remedy(parts)}"


def _remedy(parts: list[re.Match[str] | None]) -> str:
    newer = any(part and part[1] in (">=", ">", "==") and int(part[2]) > HOST_API for part in parts)
    return "upgrade policy-harness" if newer else "install a version of the plugin for this host API"
