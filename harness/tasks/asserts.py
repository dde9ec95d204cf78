"""Tests written as asserts, taken apart: calls and their arguments go into the sandbox, expected values stay outside.

MBPP and HumanEval hold lines such as `assert f([1, 2], k=3) == [2]`. Those that compare a call of one function with a
literal are used as they are; the source of a test is parsed, never run. `harness.tasks.rehearsal` has the others.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from harness.tasks.programs import CALL, parsed, value_of
from harness.tasks.sandbox import Job, Outcome

__all__ = ["Asserts", "Check", "asserts_of", "checks_of", "equal"]

TOLERANCE = 1e-6  # relative, for floating-point values


@dataclasses.dataclass(frozen=True)
class Check:
    """One call and what it must return: `arguments` is the source of (list, dict), `expected` a literal's value."""

    name: str
    arguments: str
    expected: Any

    def __str__(self) -> str:
        """As a reader would write it: `f(2, k=3) == 6`."""
        positional, named = ast.literal_eval(self.arguments)
        words = [*map(repr, positional), *(f"{key}={value!r}" for key, value in named.items())]
        return f"{self.name}({', '.join(words)}) == {self.expected!r}"


@dataclasses.dataclass(frozen=True)
class Asserts:
    """Checks of one function; the first `shown` of them stand in the prompt."""

    checks: tuple[Check, ...]
    shown: int = 0

    def __str__(self) -> str:
        """A check a line."""
        return "\n".join(map(str, self.checks))

    @property
    def count(self) -> int:
        """How many tests there are."""
        return len(self.checks)

    def job(self, program: str) -> Job:
        """The program, called with each check's arguments."""
        source = CALL.format(program=program, name=self.checks[0].name)
        return Job(source, [[check.arguments] for check in self.checks], "function")

    def second(self, outcome: Outcome) -> None:
        """None: expected values are compared out here."""

    def verdicts(self, outcome: Outcome, second: Outcome | None) -> list[bool]:  # noqa: ARG002
        """Whether each call returned what its check expects."""
        values = (value_of(text) for text in outcome.values)
        return [ok and equal(found, c.expected) for (ok, found), c in zip(values, self.checks, strict=True)]


def asserts_of(source: str) -> int:
    """How many asserts a test's source has, usable or not; those that say nothing (`assert True`) apart."""
    return len(_asserts(source))


def checks_of(source: str, *, entry: str | None = None) -> tuple[Check, ...]:
    """The usable asserts of a test's source, functions in it included.

    `entry` is what the tests call `candidate`. All checks are of one function: the first one's, or `entry`.
    """
    found = [check for test in _asserts(source) if (check := _check(test, entry))]
    return tuple(check for check in found if check.name == (entry or found[0].name))


def equal(found: Any, expected: Any) -> bool:
    """Whether a returned value is the expected one: equal and of one kind, floats within a tolerance."""
    if isinstance(expected, float) and isinstance(found, int | float) and not isinstance(found, bool):
        return found == expected or _near(found, expected)
    if isinstance(expected, list | tuple) and type(found) is type(expected) and len(found) == len(expected):
        return all(equal(a, b) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        return all(equal(found[key], value) for key, value in expected.items())
    if isinstance(expected, bool) != isinstance(found, bool):
        return False
    return bool(found == expected)


def _near(found: float, expected: float) -> bool:
    try:
        return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))
    except OverflowError:  # an integer beyond every float
        return False


def _asserts(source: str) -> list[ast.expr]:
    tree = parsed(source)
    if tree is None:
        return []
    tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return [test for test in tests if not isinstance(test, ast.Constant)]


def _check(test: ast.expr, entry: str | None) -> Check | None:
    if isinstance(test, ast.Call):  # assert candidate(x): it must be true
        call, expected = test, True
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Call):
        call, expected = test.operand, False
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Call):
        if not isinstance(test.ops[0], ast.Eq | ast.Is):
            return None
        call = test.left
        try:
            expected = ast.literal_eval(test.comparators[0])
        except (ValueError, TypeError, SyntaxError, RecursionError):
            return None
    else:
        return None
    if not isinstance(call.func, ast.Name):
        return None
    name = entry if entry is not None and call.func.id == "candidate" else call.func.id
    try:
        positional = [ast.literal_eval(argument) for argument in call.args]
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    if len(named) != len(call.keywords):  # **options
        return None
    return Check(name, repr((positional, named)), expected)
