"""What a check says: a mark, a subject, and a text that ends with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from harness.errors import HarnessError

__all__ = ["FIX", "OK", "WARN", "Check", "Finding", "guarded", "told_once"]

OK, WARN, FIX = "ok", "warn", "fix"


class Finding(NamedTuple):
    """`fix` is what keeps runs from working, `warn` what may be meant so."""

    mark: str
    subject: str
    text: str


Check = Callable[[], Iterator[Finding]]


def guarded(check: Check, subject: str = "check") -> Iterator[Finding]:
    """A check that breaks is a finding too."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 -- the doctor reports whatever is broken
        text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
        yield Finding(FIX, subject, " ".join(text.split()))


def told_once(found: Finding, told: dict[str, str]) -> Finding:
    """A text that an earlier subject of `told` had already becomes a pointer to it; `told` notes the others."""
    first = told.setdefault(found.text, found.subject)
    if found.mark != FIX or first == found.subject:
        return found
    return found._replace(text=f"not checked: it needs what '{first}' says above")
