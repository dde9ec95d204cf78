"""Every error a user may meet: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["CheckFailed", "HarnessError", "PluginError", "UsageError", "nearest"]


class HarnessError(Exception):
    """Something failed that the user can act on; `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(HarnessError):
    """Bad input: an unknown name, a wrong value, a file that is not there."""

    exit_code = 2


class CheckFailed(HarnessError):  # noqa: N818 - a check that did not hold, not a fault
    """A conformance check, a test of a rule, or a comparison that did not hold."""


class PluginError(HarnessError):
    """A plugin broke the contract of a hook: the text names plugin, hook and fault."""


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean X?' for the closest known name, else the sorted list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=5, cutoff=0.6)
    close.sort(key=lambda known: sorted(known) != sorted(name))  # swapped letters first, else the closest
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" Known: {', '.join(names)}." if names else ""
