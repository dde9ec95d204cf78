"""With whom a method is tried in one stack: what distributions name by the entry-point group `harness.partners`.

An entry point names a tuple of methods, `paper_zoo = "paper_zoo.partners:PARTNERS"`. Those that only wrap go on top of
the method that is checked; the others below it. Without any, the checks' own reference methods are all there is.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from harness.host import build_stack
from harness.host.autoload import FIRST_PARTY, Autoload, normal
from harness.host.discovery import points

if TYPE_CHECKING:
    from harness.conformance.subject import Subject

__all__ = ["above", "below"]

GROUP = "harness.partners"


def above(subject: Subject) -> str | None:
    """The first partner that only wraps and is not in the stack yet; None without one."""
    return next((name for name in _named(subject) if _only_wraps(name, subject)), None)


def below(subject: Subject) -> str | None:
    """The first partner that does more, and brings no plugin along that the user's stack holds; None without one."""
    used = {seat.entry.slug for seat in subject.built.seats if seat.given}
    for name in _named(subject):
        brought = {seat.entry.slug for seat in build_stack(name, subject.catalogue).seats}
        if not _only_wraps(name, subject) and not used & brought:
            return name
    return None


def _named(subject: Subject) -> list[str]:
    """The partners that are installed, without those of the user's stack."""
    used = {seat.entry.slug for seat in subject.built.seats if seat.given}
    return [name for name in _offered() if name in subject.catalogue and name not in used]


def _only_wraps(name: str, subject: Subject) -> bool:
    return bool(build_stack(name, subject.catalogue).seats[-1].info.only_wraps)


@cache
def _offered() -> tuple[str, ...]:
    """All names, the harness's own distribution first; one that cannot be imported offers none."""
    autoload = Autoload.read()
    offered = [(normal(owner) != FIRST_PARTY, owner, point) for point, owner, _ in points(GROUP)]
    names: list[str] = []
    for _, owner, point in sorted(offered, key=lambda one: (*one[:2], one[2].name)):
        if autoload.refusal(owner) is not None:
            continue
        try:
            names += [name for name in point.load() if isinstance(name, str)]
        except (Exception, SystemExit):  # noqa: BLE001, S112 - whatever it does at import
            continue
    return tuple(dict.fromkeys(names))
