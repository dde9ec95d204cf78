"""Running the checks of one method and turning what they raise into findings."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.conformance.bench import Bench
from harness.conformance.checks import CHECKS, find
from harness.conformance.results import Finding, NotApplicable, Report, Warned
from harness.conformance.subject import EXEMPTIBLE
from harness.errors import CheckFailed, HarnessError, UsageError, blamed, nearest, told

if TYPE_CHECKING:
    from harness.conformance.subject import Subject

__all__ = ["run_check", "run_checks", "selected"]


def selected(only: Sequence[str]) -> list[str]:
    """The checks that are named, or all. Raises UsageError for a name that is none."""
    for name in only:
        if name not in CHECKS:
            raise UsageError(f"no check {name!r}.{nearest(name, CHECKS)} The checks are {', '.join(CHECKS)}")
    return [name for name in CHECKS if name in only or not only]


def run_checks(subject: Subject, only: Sequence[str] = ()) -> Report:
    """Every check of a method, or those named; one finding where the stack cannot be built."""
    names = selected(only)
    try:
        assert subject.seat is not None
    except HarnessError as fault:
        again = f"harness explain {subject.given}"
        return Report(subject.name, (Finding("metadata", "FAIL", str(fault), again),))
    bench = Bench(subject)
    return Report(subject.name, tuple(run_check(bench, name) for name in names))


def run_check(bench: Bench, name: str) -> Finding:
    """One check of a method; a failure that it declares is not applicable, with its reason."""
    subject = bench.subject
    again = f"harness check {subject.given} --only {name} --seed {subject.seed}"
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, status = find(name)(bench), "pass"
    except NotApplicable as reason:
        text, status = str(reason), "n.a."
    except Warned as reason:
        text, status = str(reason), "warn"
    except HarnessError as fault:
        text, status = str(fault), "FAIL"
    except Exception as fault:  # noqa: BLE001 - a plugin may raise anything
        frame = traceback.extract_tb(fault.__traceback__)[-1]
        where = "" if blamed(fault) else f" ({frame.filename}:{frame.lineno})"
        text, status = f"{told(fault)}{where}", "FAIL"
    reason = _exemption(bench, name)
    if reason and status == "FAIL":
        text, status = f"exempt, as declared: {reason} [{text}]", "n.a."
    elif reason and status == "pass":
        text, status = f"declared exempt ({reason}), but it holds: take the exemption away", "warn"
    return Finding(name, status, text, again if status == "FAIL" else "", time.perf_counter() - began)  # type: ignore[arg-type]


def _exemption(bench: Bench, name: str) -> str | None:
    if name not in EXEMPTIBLE:
        return None
    try:
        return bench.subject.seat.info.claims.exempt.get(name)
    except (HarnessError, CheckFailed):
        return None
