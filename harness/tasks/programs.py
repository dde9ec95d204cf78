"""Programs that a completion means, and the tests they run against in the sandbox."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from harness.errors import HarnessError
from harness.tasks.base import Columns
from harness.tasks.sandbox import Job, Outcome

__all__ = [
    "CALL",
    "Tests",
    "fence_end",
    "is_python",
    "parsed",
    "program_text",
    "run_tests",
    "score_programs",
    "value_of",
]

MAX_VALUE = 10_000  # characters of a returned value
_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_PYTHON = frozenset({"", "python", "py", "python3"})
# Calls a function of the program with arguments given as source; gives its value's source. The program has names of its
# own: one that defines f and calls it must not meet the caller's. What equals a plain container is written as one.
CALL = """
import ast
scope = {{"__name__": "program"}}
exec({program!r}, scope)
def plain(value):
    for kind in (bool, int, str, bytes, complex):
        if isinstance(value, kind):
            return kind.__repr__(value)
    if isinstance(value, float):
        shown = float.__repr__(value)
        return {{"inf": "1e999", "-inf": "-1e999"}}.get(shown, shown)
    if isinstance(value, dict):
        return "{{" + ", ".join(plain(k) + ": " + plain(v) for k, v in value.items()) + "}}"
    for kind, form in ((list, "[%s]"), (tuple, "(%s)"), ((set, frozenset), "{{%s}}")):
        if isinstance(value, kind) and (value or kind in (list, tuple)):
            return form % "".join(plain(v) + ", " for v in value)
    return repr(value) if value is None or isinstance(value, (set, frozenset)) else object.__repr__(value)
def f(arguments):
    positional, named = ast.literal_eval(arguments)
    name = {name!r}
    function = scope[name] if name in scope else getattr(scope["Solution"](), name)
    return plain(function(*positional, **named))
"""


class Tests(Protocol):
    """What decides about a program: a job for the sandbox, then verdicts, perhaps after a second job."""

    @property
    def count(self) -> int:
        """How many tests there are."""
        ...

    @property
    def shown(self) -> int:
        """How many of them, the first ones, the prompt shows."""
        ...

    def job(self, program: str) -> Job:
        """The program on the inputs of the tests; no expected value is in it."""
        ...

    def second(self, outcome: Outcome) -> Job | None:
        """Tests that compute, applied to the values the program gave; None where none do."""
        ...

    def verdicts(self, outcome: Outcome, second: Outcome | None) -> list[bool]:
        """[count] which tests passed."""
        ...


def run_tests(programs: Sequence[str], tests: Sequence[Tests], sandbox: Any) -> list[np.ndarray]:
    """Per program bool [tests]: which of its tests it passes. Each stage is one batch of the sandbox."""
    outcomes = sandbox.run([test.job(program) for test, program in zip(tests, programs, strict=True)])
    seconds = [test.second(outcome) for test, outcome in zip(tests, outcomes, strict=True)]
    answers = iter(sandbox.run([job for job in seconds if job is not None]))
    after = [next(answers) if job is not None else None for job in seconds]
    found = [test.verdicts(*two) for test, *two in zip(tests, outcomes, after, strict=True)]
    return [np.array(verdicts, dtype=bool) for verdicts in found]


def score_programs(programs: Sequence[str | None], tests: Sequence[Tests], sandbox: Any, task: str) -> Columns:
    """Columns `correct`, `pass_fraction` (of the tests that the prompt does not show) and `format`, float64 [M] each.

    None stands for a text that was cut: it has none of them, and is not run. Raises HarnessError without a sandbox.
    """
    if sandbox is None:
        raise HarnessError(f"task {task!r} runs programs and was given no sandbox; pass sandbox=Sandbox(mode)")
    rows = [row for row, program in enumerate(programs) if program is not None]
    passed = run_tests([programs[row] or "" for row in rows], [tests[row] for row in rows], sandbox)
    found = {name: np.zeros(len(programs)) for name in ("correct", "pass_fraction", "format")}
    for row, verdicts in zip(rows, passed, strict=True):
        hidden = verdicts[tests[row].shown :] if tests[row].count > tests[row].shown else verdicts
        found["correct"][row] = verdicts.all()
        found["pass_fraction"][row] = hidden.mean()
        found["format"][row] = is_python(programs[row] or "")
    return found


def fence_end(text: str) -> int | None:
    """Where the first closed block of Python in a text ends; None without one."""
    closed = [
        found.end() for found in _FENCE.finditer(text) if found[1].lower() in _PYTHON and found[0].endswith("```")
    ]
    return closed[0] if closed else None


def program_text(text: str, prefix: str = "") -> str:
    """The program of a completion: its first fenced block of Python, else the text behind `prefix`, a given beginning.

    Thoughts that a tag closes are no part of it.

    A fenced block that starts anew keeps what stands before the last function of `prefix`: imports and helpers.
    """
    text = text.rpartition("</think>")[2].replace("\r\n", "\n")
    fenced = [code for language, code in _FENCE.findall(text) if language.lower() in _PYTHON]
    if not fenced:
        return prefix + text
    code = textwrap.dedent(fenced[0])
    if "def " not in code:
        return prefix + fenced[0]
    return prefix[: prefix.rfind("\ndef ") + 1] + code


def is_python(program: str) -> bool:
    """Whether a text is a program: it parses as Python, and does something.

    Nothing at all, a number and "yes or no" parse, too, and would be paid for.
    """
    tree = parsed(program)
    return tree is not None and not all(_says_nothing(statement) for statement in tree.body)


def _says_nothing(statement: ast.stmt) -> bool:
    """Whether it is `pass`, or an expression that calls nothing."""
    calls = any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return isinstance(statement, ast.Pass | ast.Expr) and not calls


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a text; None where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def value_of(text: Any) -> tuple[bool, Any]:
    """Whether a text that a program gave is the source of a plain value, and that value."""
    if not isinstance(text, str) or len(text) > MAX_VALUE:
        return False, None
    try:
        return True, set() if text == "frozenset()" else ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False, None
