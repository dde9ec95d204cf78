"""Reference vectors as one more line of a report: the cases of a file that are about the method."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.results import Finding, Status

if TYPE_CHECKING:
    from harness.conformance.about_method import Verdict
    from harness.conformance.subject import Subject

__all__ = ["compare_with"]

SHOWN = 3  # differences, and reasons, that a report spells out


def compare_with(subject: Subject, path: Path) -> Finding:
    """All cases of `path` that are about the subject's method, counted by what came of them.

    A wrong case fails; cases that nothing maps are a warning, and not applicable where there are no others. Raises
    UsageError for a bad file.
    """
    from harness.conformance.about_method import about, verdict
    from harness.conformance.offered import broken
    from harness.probe import knowing

    began = time.perf_counter()
    cases = list(about(subject, path))  # what mappings compute themselves is of the installed methods
    with knowing(subject.catalogue):
        found = [verdict(one, subject) for one in cases]
    status, text = _summary(found, f"{path} has no case of {subject.seat.entry.slug}")
    text += "".join(f"; the mappings of {module} cannot be used: {error}" for module, error in broken().items())
    again = f"harness check {subject.given} --vectors {path}" if status == "FAIL" else ""
    return Finding("vectors", status, text, again, time.perf_counter() - began)


def _summary(found: Sequence[Verdict], nothing: str) -> tuple[Status, str]:
    """The status, and the counts with the first differences and every other reason."""
    kinds = ("passed", "failed", "slip", "unmapped")
    passed, failed, slips, unmapped = ([one for one in found if one.status == kind] for kind in kinds)
    aside = [f"{len(slips)} slips of an implementation, not imitated: {_reasons(slips)}"] if slips else []
    aside += [f"{len(unmapped)} not mapped: {_reasons(unmapped)}"] if unmapped else []
    compared = len(passed) + len(failed)
    if not found:
        return "n.a.", nothing
    if not compared:
        return "n.a.", f"none of its {len(found)} cases can be compared; {'; '.join(aside)}"
    if not failed:
        return "warn" if unmapped else "pass", "; ".join([f"{compared} cases as expected", *aside])
    shown = [f"{one.case.id}: {one.reason}{_as(one)}" for one in failed[:SHOWN]]
    shown += [f"and {len(failed) - SHOWN} more"] if len(failed) > SHOWN else []
    return "FAIL", "; ".join([f"{len(failed)} of {compared} cases differ: {'; '.join(shown)}", *aside])


def _as(one: Verdict) -> str:
    return f" ({one.stack})" if one.stack else ""


def _reasons(found: Iterable[Verdict]) -> str:
    """Different reasons, the most frequent first."""
    counts = Counter(one.reason for one in found).most_common()
    more = f", and {len(counts) - SHOWN} other reasons" if len(counts) > SHOWN else ""
    return ", ".join(f"{reason} ({count})" for reason, count in counts[:SHOWN]) + more
