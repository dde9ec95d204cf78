"""Reference vectors as one more line of a report: the cases of a file that are about the method."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING

from harness.conformance.results import Finding
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.conformance.subject import Subject

__all__ = ["compare_with"]

SHOWN = 3  # differences that a report spells out


def compare_with(subject: Subject, path: Path) -> Finding:
    """All cases of `path` of the subject's method, params read as its fields. Raises UsageError for a bad file.

    Cases that set what the method has no field for are counted, not compared.
    """
    from harness.conformance.vectors import default_run, read_cases, run_case
    from harness.probe import knowing

    began = time.perf_counter()
    slug = subject.seat.entry.slug
    cases = [case for case in read_cases(path) if case.method.replace("_", "-").lower() == slug]
    if not cases:
        return Finding("vectors", "n.a.", f"{path} has no case of {slug}")
    fields = [field.name for field in dataclasses.fields(subject.seat.plugin)]
    wrong, strange = [], []
    for case in cases:
        try:
            with knowing(subject.catalogue):
                result = run_case(default_run(case, subject.stack, fields), case)
        except UsageError as fault:
            strange.append(str(fault))
            continue
        if not result.passed:
            wrong.append(f"{case.id}: {result}")
    took = time.perf_counter() - began
    compared = len(cases) - len(strange)
    if not compared:
        text = f"none of its {len(cases)} cases has params that are fields of it: {strange[0]}"
        return Finding("vectors", "n.a.", text, seconds=took)
    aside = f"; {len(strange)} cases cannot be compared: {strange[0]}" if strange else ""
    if not wrong:
        return Finding("vectors", "warn" if strange else "pass", f"{compared} cases as expected{aside}", seconds=took)
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    text = f"{len(wrong)} of {compared} cases differ: {'; '.join(wrong[:SHOWN])}{more}{aside}"
    return Finding("vectors", "FAIL", text, f"harness check {subject.given} --vectors {path}", took)
