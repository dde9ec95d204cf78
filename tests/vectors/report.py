"""Run cases and count what came of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache

from harness.conformance.mapping import Guess, Slip, Unmapped, guess, outcome
from harness.conformance.run_vectors import run_case
from harness.conformance.vectors import Case
from harness.host import Catalogue, discover, parse_stack

STATUSES = ("passed", "failed", "slip", "unmapped", "missing")


@dataclasses.dataclass(frozen=True)
class Line:
    """One case: its status, and what there is to say about it."""

    case: Case
    status: str
    reason: str = ""
    stack: str = ""


@dataclasses.dataclass(frozen=True)
class Totals:
    """Counts of cases. Shares are over the cases of methods that exist here."""

    cases: int
    methods: int
    passed: int
    failed: int
    slip: int
    unmapped: int
    missing: int

    @property
    def existing(self) -> int:
        return self.cases - self.missing

    @property
    def passing(self) -> float:
        return self.passed / self.existing if self.existing else 1.0

    @property
    def aside(self) -> float:
        return (self.slip + self.unmapped) / self.existing if self.existing else 0.0

    def __str__(self) -> str:
        return (
            f"{self.cases} cases of {self.methods} methods: {self.passed} of {self.existing} cases of existing methods"
            f" pass ({100 * self.passing:.1f} %), {self.failed} failed, {self.slip} marked, {self.unmapped} not mapped;"
            f" {self.missing} cases of methods that do not exist"
        )


def check(case: Case) -> Line:
    """Map, compute and compare one case; nothing that a case holds makes this raise."""
    try:
        found = outcome(case)
        named = guess(case, installed()) if found is None else None
        if found is None:
            return _guessed(case, named)
        if isinstance(found, Slip | Unmapped):
            return Line(case, "slip" if isinstance(found, Slip) else "unmapped", found.reason)
        absent = [spec.name for spec in parse_stack(found.stack) if spec.name not in installed()]
    except Exception as error:  # a mapping that fails is a failed case, not the end of the report
        return Line(case, "failed", f"mapping: {type(error).__name__}: {error}")
    if absent:
        return Line(case, "missing", f"no method {', '.join(absent)} here", found.stack)
    result = run_case(found, case)
    return Line(case, "passed" if result.passed else "failed", "" if result.passed else str(result), found.stack)


def _guessed(case: Case, named: Guess | None) -> Line:
    """The line of a method that no function maps."""
    if named is None:
        return Line(case, "missing", f"no method {case.method.replace('_', '-')} here")
    run, left = named
    if run_case(run, case).passed:
        return Line(case, "passed", "", run.stack)
    unknown = f", which has no {', '.join(left)}," if left else ""
    name = parse_stack(run.stack)[0].name
    return Line(case, "unmapped", f"no mapping knows {case.method}; {name}{unknown} does not agree by name", run.stack)


def totals(lines: Sequence[Line]) -> Totals:
    """The counts of all lines."""
    count = {status: sum(line.status == status for line in lines) for status in STATUSES}
    return Totals(cases=len(lines), methods=len({line.case.method for line in lines}), **count)


def by_method(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Slug -> its lines, in order of the slug."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.case.method, []).append(line)
    return dict(sorted(found.items()))


@cache
def installed() -> Catalogue:
    return discover()
