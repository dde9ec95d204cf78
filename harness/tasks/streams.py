"""Tests as inputs and outputs (APPS, TACO): a program that reads stdin and writes stdout, or a function by name."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from harness.tasks.asserts import Asserts, Check, equal
from harness.tasks.programs import MAX_VALUE, value_of
from harness.tasks.sandbox import Job, Outcome

__all__ = ["Streams", "cases_of"]

MAX_DIGITS = 4300  # of an integer that Python reads and writes


@dataclasses.dataclass(frozen=True)
class Streams:
    """Texts for stdin and what must come out."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shown: int = 0

    @property
    def count(self) -> int:
        """How many tests there are."""
        return len(self.inputs)

    def job(self, program: str) -> Job:
        """The program, once for each text."""
        return Job(program, [[text] for text in self.inputs], "stream")

    def second(self, outcome: Outcome) -> None:
        """None: outputs are compared out here."""

    def verdicts(self, outcome: Outcome, second: Outcome | None) -> list[bool]:  # noqa: ARG002
        """Whether each output is the expected one."""
        pairs = zip(outcome.values, self.outputs, strict=True)
        return [isinstance(value, str) and _same(value, expected) for value, expected in pairs]


@dataclasses.dataclass(frozen=True)
class Calls(Asserts):
    """Calls of a function with their values, where lists and tuples are one: JSON knows lists only."""

    def verdicts(self, outcome: Outcome, second: Outcome | None) -> list[bool]:  # noqa: ARG002
        """Whether each call returned the value, or the one value of a list of one, as such data often wrap it."""
        pairs = zip((value_of(text) for text in outcome.values), self.checks, strict=True)
        return [ok and _wrapped_equal(_listed(found), check.expected) for (ok, found), check in pairs]


def cases_of(value: Any, most: int) -> Streams | Calls | None:
    """The first `most` tests of an input_output column (JSON, or read already); None where there are none."""
    found = _read(value)
    if not isinstance(found, Mapping):
        return None
    inputs, outputs = found.get("inputs"), found.get("outputs")
    if not isinstance(inputs, list | tuple) or not isinstance(outputs, list | tuple):
        return None
    pairs = list(zip(inputs, outputs, strict=False))
    name = found.get("fn_name")
    if name:
        calls = [(given, out) for given, out in pairs if isinstance(given, list | tuple) and _literal(given, out)]
        checks = tuple(Check(str(name), repr((list(given), {})), _listed(out)) for given, out in calls[:most])
        return Calls(checks) if checks else None
    texts = [(_text(given), _text(out)) for given, out in pairs]
    usable = [(given, out) for given, out in texts if len(out) <= MAX_VALUE][:most]
    if not any(out.strip() for _, out in usable):  # silence would pass
        return None
    return Streams(tuple(given for given, _ in usable), tuple(out for _, out in usable))


def _read(value: Any) -> Any:
    """JSON, read; None where it is none. Integers too long for Python to read are NaN, which no test can use."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_int=lambda digits: int(digits) if len(digits) < MAX_DIGITS else math.nan)
    except (ValueError, RecursionError):
        return None


def _literal(given: Any, out: Any) -> bool:
    """Whether a call and its value can be written down as Python, and a program can give the value."""
    try:
        ast.literal_eval(repr((given, out)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return len(repr(out)) <= MAX_VALUE


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _same(found: str, expected: str) -> bool:
    """Line by line and word by word, whatever the spacing; numbers with a point within a tolerance."""
    one, two = ([line.split() for line in text.split("\n") if line.strip()] for text in (found, expected))
    if [len(line) for line in one] != [len(line) for line in two]:
        return False
    return all(_same_word(a, b) for x, y in zip(one, two, strict=True) for a, b in zip(x, y, strict=True))


def _same_word(found: str, expected: str) -> bool:
    if found == expected:
        return True
    if "." not in expected:
        return False
    try:
        return equal(float(found), float(expected))
    except ValueError:
        return False


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def _wrapped_equal(found: Any, expected: Any) -> bool:
    return equal(found, expected) or (isinstance(expected, list) and len(expected) == 1 and equal(found, expected[0]))
