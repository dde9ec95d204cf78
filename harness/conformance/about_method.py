"""Which reference vectors are about a method, and what comes of each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.conformance.mapping import Outcome, Run, Slip, Unmapped, guess, mappers, outcome
from harness.conformance.run_vectors import run_case
from harness.conformance.vectors import default_run, read_cases
from harness.errors import HarnessError, UsageError
from harness.host import build_stack, parse_stack
from harness.host.parsing import spell_stack

if TYPE_CHECKING:
    from harness.conformance import vectors
    from harness.conformance.subject import Subject

__all__ = ["Asked", "Verdict", "about", "verdict"]


@dataclasses.dataclass(frozen=True)
class Asked:
    """A case, and what its mapping makes of it; None where no function maps its slug."""

    case: vectors.Case
    found: Outcome | None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What came of a case: a slip is not imitated, unmapped ones cannot be compared; both with their reason."""

    case: vectors.Case
    status: Literal["passed", "failed", "slip", "unmapped"]
    reason: str = ""
    stack: str = ""


def about(subject: Subject, path: Path) -> list[Asked]:
    """The cases whose slug is the method's name, or whose stack holds the method.

    A case without a stack counts where another of its slug has one that does. Raises UsageError for a bad file.
    """
    slug = subject.seat.entry.slug
    asked = [_guessed(one, subject) for one in _outcomes(path)]
    reached = {one.case.method for one in asked if isinstance(one.found, Run) and _holds(one.found.stack, slug)}
    return [
        one
        for one in asked
        if _is_called(one.case, slug)
        or (_holds(one.found.stack, slug) if isinstance(one.found, Run) else one.case.method in reached)
    ]


def verdict(one: Asked, subject: Subject) -> Verdict:
    """Compute and compare: as mapped, else with params as the method's fields where the slug is its name."""
    case = one.case
    if isinstance(one.found, Slip):
        return Verdict(case, "slip", one.found.reason)
    ours = _is_mapped_beside(case, subject)
    mapped = _as_mapped(case, one.found, subject, ours=ours) if one.found is not None else None
    if mapped is not None and mapped.status != "unmapped":
        return mapped
    if (mapped is not None and ours) or not _is_called(case, subject.seat.entry.slug):
        return mapped or Verdict(case, "unmapped", f"no mapping knows {case.method}")
    try:
        run = default_run(case, subject.stack, [field.name for field in dataclasses.fields(subject.seat.plugin)])
    except UsageError as fault:
        return mapped or Verdict(case, "unmapped", str(fault))
    return _compared(case, run)


def _as_mapped(case: vectors.Case, found: Run | Unmapped, subject: Subject, *, ours: bool) -> Verdict:
    """The verdict of a mapping. One of another package must ask the checked method, not compute by itself."""
    if isinstance(found, Unmapped):
        return Verdict(case, "unmapped", found.reason)
    slug = subject.seat.entry.slug
    if not ours and case.method in mappers() and (callable(found.probe) or not _holds(found.stack, slug)):
        return Verdict(case, "unmapped", f"the mapping of {case.method} does not ask the {slug} that is checked")
    run = dataclasses.replace(found, stack=_pinned(found.stack, subject))
    try:
        build_stack(run.stack, subject.catalogue)
    except HarnessError as fault:
        return Verdict(case, "unmapped", str(fault), run.stack)
    return _compared(case, run)


def _compared(case: vectors.Case, run: Run) -> Verdict:
    result = run_case(run, case)
    return Verdict(case, "passed" if result.passed else "failed", "" if result.passed else str(result), run.stack)


def _guessed(one: Asked, subject: Subject) -> Asked:
    """A case that no function maps, by the names of its params: with all of them understood, and only if it agrees."""
    if one.found is not None:
        return one
    named = guess(one.case, subject.catalogue)
    if named is None or not _holds(named[0].stack, subject.seat.entry.slug):
        return one
    run, left = named
    if left or not run_case(run, one.case).passed:
        return one
    return Asked(one.case, run)


def _outcomes(path: Path) -> Sequence[Asked]:
    """The cases of a file and their mappings, which are the same for every method."""
    try:
        known = path.stat().st_mtime_ns
    except OSError:
        known = 0
    return _mapped(path, known, len(mappers()))


@functools.lru_cache(maxsize=1)
def _mapped(path: Path, _changed: int, _mappers: int) -> Sequence[Asked]:
    return [Asked(case, _outcome(case)) for case in read_cases(path)]


def _outcome(case: vectors.Case) -> Outcome | None:
    try:
        return outcome(case)
    except Exception as error:  # noqa: BLE001 - a mapping that fails maps nothing; the others go on
        return Unmapped(f"the mapping of {case.method} fails: {type(error).__name__}: {error}")


def _is_called(case: vectors.Case, slug: str) -> bool:
    return case.method.replace("_", "-").lower() == slug


def _holds(stack: str, slug: str) -> bool:
    return any(spec.name == slug for spec in parse_stack(stack))


def _is_mapped_beside(case: vectors.Case, subject: Subject) -> bool:
    """Whether the mapping of the case comes from the package that the checked class comes from."""
    mapper = mappers().get(case.method)
    package = type(subject.seat.plugin).__module__.partition(".")[0]
    return mapper is not None and mapper.__module__.partition(".")[0] == package


def _pinned(stack: str, subject: Subject) -> str:
    """The stack with the method that is checked, where others offer its name."""
    entry = subject.seat.entry
    if not subject.catalogue.clashes(entry.slug):
        return stack
    here, specs = entry.distribution, parse_stack(stack)
    return spell_stack(
        [dataclasses.replace(spec, distribution=here) if spec.name == entry.slug else spec for spec in specs]
    )
