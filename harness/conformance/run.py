"""Running the checks of one method and turning what they raise into findings."""

from __future__ import annotations

import re
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

_ADVICE = re.compile(r"; mend it, `harness check [^`]*` tries it on small batches")  # of `Place.fault`


def selected(only: Sequence[str]) -> list[str]:
    """The checks that are named, or all. Raises UsageError for a name that is none."""
    for name in only:
        if name not in CHECKS:
            raise UsageError(f"no check {name!r}.{nearest(name, CHECKS)} The checks are {', '.join(CHECKS)}")
    return [name for name in CHECKS if name in only or not only]


def run_checks(subject: Subject, only: Sequence[str] = ()) -> Report:
    """Every check of a method, or those named. What keeps the method from running at all is one failure."""
    bench = Bench(subject)
    return Report(subject.name, tuple(run_check(bench, name) for name in selected(only)))


def run_check(bench: Bench, name: str) -> Finding:
    """One check of a method; a failure that it declares is not applicable, with its reason."""
    subject = bench.subject
    again = f"harness check {subject.given} --only {name} --seed {subject.seed}"
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status, text = _blocked(bench, name) or _answer(bench, name)
    if bench.unbuilt is not None:
        explain = f"{subject.stack} --plugin {subject.given}" if subject.given.endswith(".py") else subject.given
        return Finding(name, status, text, f"harness explain {explain}" if status == "FAIL" else "")
    reason = subject.seat.info.claims.exempt.get(name) if name in EXEMPTIBLE else None
    if reason and status == "FAIL" and bench.teller is None:
        status, text = "n.a.", f"exempt, as declared: {reason} [{text}]"
    elif reason and status == "pass":
        status, text = "warn", f"declared exempt ({reason}), but it holds: take the exemption away"
    return Finding(name, status, text, again if status == "FAIL" else "", time.perf_counter() - began)


def _blocked(bench: Bench, name: str) -> tuple[Status, str] | None:
    """Where the method cannot be built or run: told by the first check that asks; the others were not run."""
    fault = bench.unbuilt or (bench.unrun if name != "metadata" else None)
    if fault is None:
        return None
    bench.teller = bench.teller or name
    return ("FAIL", _said(fault)) if bench.teller == name else ("n.a.", f"not run: see {bench.teller}")


def _answer(bench: Bench, name: str) -> tuple[Status, str]:
    """What a check returns or raises, as a result and its text."""
    try:
        return "pass", find(name)(bench)
    except NotApplicable as answer:
        return "n.a.", str(answer)
    except Warned as answer:
        return "warn", str(answer)
    except Exception as fault:  # noqa: BLE001 - a plugin may raise anything
        return "FAIL", _said(fault)


def _said(fault: Exception) -> str:
    """A fault in a line, without the advice to run what is running."""
    if isinstance(fault, CheckFailed):
        return _ADVICE.sub("", str(fault))
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    where = "" if blamed(fault) or isinstance(fault, HarnessError) else f" ({frame.filename}:{frame.lineno})"
    return _ADVICE.sub("", f"{told(fault)}{where}")
