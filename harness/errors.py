"""Every error a user may meet: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = [
    "Blamed", "CheckFailed", "Faults", "HarnessError", "NeverCalled", "PluginError", "Refusal", "StackRefused",
    "UnusablePlugin", "UsageError", "blame", "blamed", "nearest", "told",
]  # fmt: skip


class HarnessError(Exception):
    """Something failed that the user can act on; `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(HarnessError):
    """Bad input: an unknown name, a wrong value, a file that is not there."""

    exit_code = 2


class Faults(UsageError):  # noqa: N818 - several errors
    """Everything wrong with one input: a line a fault on the command line, joined where one line is wanted."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines

    def __str__(self) -> str:
        return "; ".join(self.lines)

    @classmethod
    def of(cls, faults: Sequence[HarnessError]) -> HarnessError:
        """One error as it is; several as their lines, each once, the first few of them."""
        lines = list(dict.fromkeys(map(told, faults)))
        if len(lines) == 1:
            return faults[0]
        more = len(lines) - _FAULTS
        return cls(*lines[:_FAULTS], *([f"and {more} more"] if more > 0 else []))


class CheckFailed(HarnessError):  # noqa: N818 - a check that did not hold, not a fault
    """A conformance check, a test of a rule, or a comparison that did not hold."""


class PluginError(HarnessError):
    """A plugin broke the contract of a hook: the text names plugin, hook and fault."""


class Blamed(PluginError):  # noqa: N818 - a word that reads well where it is raised
    """Names the plugin and the hook at fault already; it passes through whatever lies above."""


class UnusablePlugin(PluginError):  # noqa: N818 - what it is, not only that it failed
    """A plugin that cannot be used at all, as its import or its class shows before anything trains: exit code 2."""

    exit_code = 2


class Refusal(HarnessError):  # noqa: N818 - an answer of the host
    """Plugins that cannot stand in one stack, which is no fault of any of them."""


class StackRefused(UsageError, Refusal):  # noqa: N818 - the same, as the stack is built
    """They conflict, one hides all of another, or one stands there twice."""


class NeverCalled(PluginError, Refusal):  # noqa: N818 - the same, by the end of the first step
    """What one implements another keeps from being called."""


_FAULTS = 8  # of one input, before the rest is only counted
_LISTED = 24  # more names than these are no help in a line

_CULPRIT = "plugin "  # how the notes begin that say whose an exception is
_HINT = "hint: "  # and those that say what to do about it


def blame(error: BaseException, culprit: str, hint: str = "") -> None:
    """Note on an exception whose it is ("plugin 'x' (dist 1.0), hook keep, at file.py:12"), and what to do about it.

    Its type stays.
    """
    error.add_note(culprit)
    if hint:
        error.add_note(f"{_HINT}{hint}")


def blamed(error: BaseException) -> bool:
    """Whether an exception says already whose it is."""
    return any(str(note).startswith(_CULPRIT) for note in getattr(error, "__notes__", ()))


def told(error: BaseException) -> str:
    """An exception in one line: whose it is, its kind unless the text is meant for users, its text, and what to do."""
    text = " ".join(str(error).split())
    line = text if isinstance(error, HarnessError) and text else f"{type(error).__name__}: {text}".rstrip(": ")
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    culprits = [note for note in notes if note.startswith(_CULPRIT)]
    hints = [note.removeprefix(_HINT) for note in notes if note.startswith(_HINT)]
    return "; ".join([": ".join([*culprits[:1], line]), *hints[:1]])


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean X?' for the closest known name, else the sorted list of known names where it is short."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=5, cutoff=0.6)
    close.sort(key=lambda known: sorted(known) != sorted(name))  # swapped letters first, else the closest
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" Known: {', '.join(names)}." if 0 < len(names) <= _LISTED else ""
