"""Tests written as asserts, taken apart: calls and their arguments go into the sandbox, expected values stay outside.

MBPP and HumanEval hold lines such as `assert f([1, 2], k=3) == [2]`. Only those that compare a call of one function
with a literal are used; the source of a test is parsed, never run.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Sequence
from typing import Any

from harness.tasks.sandbox import Job, Outcome

__all__ = ["Check", "checks_of", "is_python", "job", "passes", "program_text"]

TOLERANCE = 1e-6  # relative, for floating-point values
MAX_VALUE = 10_000  # characters of a returned value
_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
# The program has names of its own: one that defines f and calls it must not meet the caller's.
_CALL = """
import ast
scope = {{"__name__": "program"}}
exec({program!r}, scope)
def f(arguments):
    positional, named = ast.literal_eval(arguments)
    return repr(scope[{name!r}](*positional, **named))
"""


@dataclasses.dataclass(frozen=True)
class Check:
    """One call and what it must return: `arguments` is the source of (list, dict), `expected` a literal's value."""

    name: str
    arguments: str
    expected: Any


def checks_of(source: str, *, entry: str | None = None) -> tuple[Check, ...]:
    """The usable asserts of a test's source, functions in it included.

    `entry` is what the tests call `candidate`. All checks are of one function: the first one's, or `entry`.
    """
    tree = _parsed(source)
    if tree is None:
        return ()
    tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    found = [check for test in tests if (check := _check(test, entry))]
    return tuple(check for check in found if check.name == (entry or found[0].name))


def program_text(text: str, prefix: str = "") -> str:
    """The program of a completion: its fenced block if it has one, else the text behind `prefix`, a given beginning."""
    fenced = _FENCE.search(text)
    if fenced is None:
        return prefix + text
    return fenced[1] if "def " in fenced[1] else prefix + fenced[1]


def is_python(program: str) -> bool:
    """Whether a text parses as Python."""
    return _parsed(program) is not None


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def job(program: str, checks: Sequence[Check]) -> Job:
    """What the sandbox runs: the program, called with each check's arguments."""
    return Job(_CALL.format(program=program, name=checks[0].name), [[check.arguments] for check in checks], "function")


def passes(outcome: Outcome, checks: Sequence[Check]) -> bool:
    """Whether every call returned what its check expects."""
    return all(_returned(value, check.expected) for value, check in zip(outcome.values, checks, strict=True))


def _check(test: ast.expr, entry: str | None) -> Check | None:
    if isinstance(test, ast.Call):  # assert candidate(x): it must be true
        call, expected = test, True
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Call):
        call, expected = test.operand, False
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Call):
        if not isinstance(test.ops[0], ast.Eq | ast.Is):
            return None
        call, value = test.left, test.comparators[0]
        try:
            expected = ast.literal_eval(value)
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


def _returned(value: Any, expected: Any) -> bool:
    if not isinstance(value, str) or len(value) > MAX_VALUE:
        return False
    try:
        found = set() if value == "set()" else ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return _equal(found, expected)


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, int | float) and not isinstance(found, bool):
        return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))
    if isinstance(expected, list | tuple) and type(found) is type(expected) and len(found) == len(expected):
        return all(_equal(a, b) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, bool) != isinstance(found, bool):
        return False
    return bool(found == expected)
