"""Running the checks of one method and turning what they raise into findings."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.conformance.bench import Bench
from harness.conformance.checks import CHECKS, find
from harness.conformance.results import Finding, NotApplicable, Report, Status, Warned
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status, text = _answer(bench, name)
    reason = subject.seat.info.claims.exempt.get(name) if name in EXEMPTIBLE else None
    if reason and status == "FAIL":
        status, text = "n.a.", f"exempt, as declared: {reason} [{text}]"
    elif reason and status == "pass":
        status, text = "warn", f"declared exempt ({reason}), but it holds: take the exemption away"
    return Finding(name, status, text, again if status == "FAIL" else "", time.perf_counter() - began)


def _answer(bench: Bench, name: str) -> tuple[Status, str]:
    """What a check returns or raises, as a result and its text."""
    try:
        return "pass", find(name)(bench)
    except NotApplicable as answer:
        return "n.a.", str(answer)
    except Warned as answer:
        return "warn", str(answer)
    except CheckFailed as fault:
        return "FAIL", str(fault)
    except Exception as fault:  # noqa: BLE001 - a plugin may raise anything
        frame = traceback.extract_tb(fault.__traceback__)[-1]
        where = "" if blamed(fault) or isinstance(fault, HarnessError) else f" ({frame.filename}:{frame.lineno})"
        return "FAIL", f"{told(fault)}{where}"
