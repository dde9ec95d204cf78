"""The reports of one or many methods, one after another in one process, so that torch is imported once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.against_vectors import compare_with
from harness.conformance.run import run_checks

if TYPE_CHECKING:
    from harness.conformance.results import Report
    from harness.conformance.subject import Subject

__all__ = ["check_all"]


def check_all(found: Sequence[Subject], only: Sequence[str] = (), vectors: Path | None = None) -> Iterator[Report]:
    """A report a subject; with `vectors` a line about the cases of a file that are about it."""
    for subject in found:
        report = run_checks(subject, only)
        if vectors is not None:
            finding = compare_with(subject, vectors)
            if finding.status != "n.a." or len(found) == 1:
                report = dataclasses.replace(report, findings=(*report.findings, finding))
        yield report
