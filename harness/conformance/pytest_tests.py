"""The checks as pytest tests: `test_conformance = conformance_tests("my-method")` in a file of an author's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.conformance.bench import Bench
from harness.conformance.run import run_check, selected
from harness.conformance.subject import Target, subjects

if TYPE_CHECKING:
    from harness.conformance.subject import Subject

__all__ = ["conformance_tests"]


def conformance_tests(target: Target, *, seed: int = 0, only: Sequence[str] = ()) -> Callable[[Subject, str], None]:
    """One test per method and check. `target`: a method or stack, a .py file, a @method class or a distribution.

    A failure says how to see it again with `harness check`; a check that does not apply is skipped with its reason.
    """
    import pytest

    found = subjects(target, seed=seed)
    benches = {subject.name: Bench(subject) for subject in found}
    several = len(found) > 1
    cases = [
        pytest.param(subject, check, id=f"{subject.name}-{check}" if several else check)
        for subject in found
        for check in selected(only)
    ]

    @pytest.mark.parametrize(("subject", "check"), cases)
    def test(subject: Subject, check: str) -> None:
        finding = run_check(benches[subject.name], check)
        if finding.status == "FAIL":
            pytest.fail(f"{finding.text}\nagain: {finding.reproduce}", pytrace=False)
        if finding.status == "n.a.":
            pytest.skip(finding.text)

    return test
