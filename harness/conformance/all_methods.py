"""The reports of one or many methods; many are shared out to processes that are forked with torch imported."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.against_vectors import compare_with
from harness.conformance.run import run_checks

if TYPE_CHECKING:
    from harness.conformance.results import Report
    from harness.conformance.subject import Subject

__all__ = ["check_all"]


def check_all(
    found: Sequence[Subject], only: Sequence[str] = (), vectors: Path | None = None, jobs: int = 1
) -> Iterator[Report]:
    """A report a subject, in their order; with `vectors` a line about the cases of a file that are about it."""
    if jobs < 2 or len(found) < 2:
        yield from (_report(subject, only, vectors) for subject in found)
        return
    _WORK[:] = [(subject, tuple(only), vectors) for subject in found]
    with multiprocessing.get_context("fork").Pool(min(jobs, len(found))) as pool:
        yield from pool.imap(_numbered, range(len(found)))


_WORK: list[tuple[Subject, Sequence[str], Path | None]] = []  # what forked processes find when they begin


def _numbered(number: int) -> Report:
    return _report(*_WORK[number])


def _report(subject: Subject, only: Sequence[str], vectors: Path | None) -> Report:
    report = run_checks(subject, only)
    if vectors is None:
        return report
    finding = compare_with(subject, vectors)
    return dataclasses.replace(report, findings=(*report.findings, finding))
