"""What every plugin must pass: checks on the CPU in seconds, for `harness check` and for an author's own tests.

An author's test file is three lines; every check is a test of its own, a check that does not apply is skipped:

    from harness.conformance import conformance_tests

    test_conformance = conformance_tests("my-method")  # or a stack, a .py file, a @method class, a distribution

`task_tests("my-task")` does the same for a task. `EXEMPTIBLE` names the checks that a method may honestly not hold and
say so, `@method(exempt={"permutation": "of tied rows the first is taken"})`: the report shows the reason.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "CHECKS": "checks",
    "EXEMPTIBLE": "subject",
    "conformance_tests": "pytest_tests",
    "run_checks": "run",
    "subjects": "subject",
    "task_tests": "tasks",
}

if TYPE_CHECKING:
    from harness.conformance.checks import CHECKS
    from harness.conformance.pytest_tests import conformance_tests
    from harness.conformance.run import run_checks
    from harness.conformance.subject import EXEMPTIBLE, subjects
    from harness.conformance.tasks import task_tests

__all__ = ["CHECKS", "EXEMPTIBLE", "conformance_tests", "run_checks", "subjects", "task_tests"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'harness.conformance' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"harness.conformance.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value
