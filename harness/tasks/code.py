"""Write a Python expression in x that fits shown examples: `1:4,3:10,6:19,8:25>` asks for `3*x+1`.

Hidden inputs outside the shown range decide, so a look-up of the examples, which fits all that is shown, passes none.
"""

from __future__ import annotations

import ast
import functools
import random
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from harness.errors import HarnessError
from harness.tasks.base import Columns, Problem, Split, Task, check_split
from harness.tasks.functions import FAMILIES, HIDDEN, SHOWN, Function, functions
from harness.tasks.sandbox import Job, same

__all__ = ["CodeTask", "Program", "program_of"]

EXAMPLES = 4
SIZES = {"train": 8192, "validation": 1000, "test": 1000}
BREVITY_SCALE = 40  # characters at which brevity has fallen to 0
# Wrappings that a reader would see through: they run, and cost the format.
_WRAPPINGS = ("f(x)=", "f(x) = ", "y=", "y = ", "return ")


@functools.cache
def _split(split: Split) -> tuple[Problem, ...]:
    """All problems of a split: a fixed stream over families, functions of the split and inputs to show.

    A draw is kept if its examples show every part of the function and leave no doubt: every function of every family
    that fits them gives the same hidden values. So no prompt is found in two splits either.
    """
    generator = random.Random(f"code/{split}")  # noqa: S311
    seen: set[str] = set()
    found: list[Problem] = []
    universe = functions()
    shown = np.array([f.shown for f in universe], dtype=np.int16).T.copy()  # [input, function]: contiguous compares
    hidden = np.array([f.hidden for f in universe])
    splits: dict[tuple[int, ...], Split] = {}
    members: dict[str, list[Function]] = {family: [] for family in FAMILIES}
    for function in universe:
        if splits.setdefault(function.hidden, function.split) == split:
            members[function.family].append(function)
    families = list(members)
    while len(found) < SIZES[split]:
        choices = members[families[len(found) % len(families)]]  # every family in turn: equal shares
        function = choices[int(generator.random() * len(choices))]
        inputs = tuple(sorted(sorted(SHOWN, key=lambda _: generator.random())[:EXAMPLES]))
        if not function.shows_enough(inputs):
            continue
        values = [function.shown[x - SHOWN[0]] for x in inputs]
        fits = np.logical_and.reduce([shown[x - SHOWN[0]] == y for x, y in zip(inputs, values, strict=True)])
        if (hidden[fits] != np.array(function.hidden)).any():
            continue
        prompt = ",".join(f"{x}:{y}" for x, y in zip(inputs, values, strict=True)) + ">"
        if prompt in seen:
            continue
        seen.add(prompt)
        data = {"inputs": inputs, "function": function, "family": function.family, "canonical": function.hidden}
        found.append(Problem(f"code:{prompt[:-1]}", prompt, "code", function.hidden, data))
    return tuple(found)


class CodeTask(Task):
    """A Python expression in x, or a short function f, from four examples; nine families of functions.

    Columns: `all_passed` (every hidden test; this is what counts as correct), `pass_fraction`, `runs` (no error on any
    hidden input), `format` (a bare expression: no `def`, `lambda`, `return`, `f(x)=`), `brevity` (1 at length 0, 0 at
    40 characters; 0 where the text is not Python). A truncated text fails all but `brevity`.
    """

    name = "code"
    columns = ("all_passed", "pass_fraction", "runs", "format", "brevity")
    correct_column = "all_passed"
    answer_format = "format"
    needs_sandbox = True

    def __init__(self, reward_weights: dict[str, float] | None = None, max_tokens: int = 40) -> None:
        # All or nothing by default: a constant passes half of many tests. `pass_fraction` is measured.
        self.reward_weights = {"all_passed": 1.0, "pass_fraction": 0.0, "runs": 0.1, "format": 0.2, "brevity": 0.1}
        self.reward_weights |= reward_weights or {}
        self.max_tokens = max_tokens

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split."""
        check_split(split)
        return _split(split)[:limit]

    def score_texts(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
    ) -> Columns:
        """The five columns, each [M]. Programs run in `sandbox` and get hidden inputs only; results compare here."""
        passed, runs, parsed = self._outcomes(problems, texts, truncated, sandbox)
        python = np.array([program is not None for program, _ in parsed], dtype=np.float64)
        lengths = np.array([len(text) for text in texts], dtype=np.float64)
        return {
            "all_passed": passed.all(1).astype(np.float64),
            "pass_fraction": passed.mean(1),
            "runs": runs,
            "format": np.array([bare for _, bare in parsed], dtype=np.float64),
            "brevity": np.clip(1 - lengths / BREVITY_SCALE, 0, 1) * python,
        }

    def tests_passed(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
    ) -> np.ndarray:
        """[M, tests] 1 where the text passes the hidden test: what `pass_fraction` is the mean of. Runs them anew."""
        return self._outcomes(problems, texts, truncated, sandbox)[0]

    @staticmethod
    def _outcomes(
        problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], sandbox: Any
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[Program | None, bool]]]:
        """(tests passed [M, tests], ran without error [M], each text's program and whether it is bare)."""
        if sandbox is None:
            raise HarnessError("the code task runs programs and was given no sandbox; pass sandbox=Sandbox(mode)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            parsed = [(None, False) if cut else program_of(text) for text, cut in zip(texts, truncated, strict=True)]
        programs = list(dict.fromkeys(program for program, _ in parsed if program is not None))
        values = dict(zip(programs, _run(programs, sandbox), strict=True))
        passed, runs = np.zeros((len(texts), len(HIDDEN))), np.zeros(len(texts))
        for row, (problem, (program, _)) in enumerate(zip(problems, parsed, strict=True)):
            if program is not None:
                got = values[program]
                runs[row] = all(value is not None for value in got)
                passed[row] = [same(a, b) for a, b in zip(got, problem.answer, strict=True)]
        return passed, runs, parsed


class Program(NamedTuple):
    """What the sandbox runs: an expression in x, or source that defines f."""

    kind: Literal["expression", "function"]
    source: str


def program_of(text: str) -> tuple[Program | None, bool]:
    """The program that a completion means, and whether the completion is a bare expression and nothing else.

    The text is parsed, never run. (None, False) where it is no Python.
    """
    bare = text.strip()
    if bare.startswith("def f("):
        return (Program("function", bare), False) if _parses(bare, "exec") else (None, False)
    for wrapping in _WRAPPINGS:
        bare = bare.removeprefix(wrapping)
    if not bare or not _parses(bare, "eval"):
        return None, False
    if bare.startswith("lambda"):
        return Program("function", f"f = (\n{bare}\n)\n"), False
    return Program("expression", bare), bare == text


def _parses(text: str, mode: str) -> bool:
    try:
        ast.parse(text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _run(programs: Sequence[Program], sandbox: Any) -> list[list[Any]]:
    """Per program its values at the hidden inputs, None where an input failed."""
    if not programs:
        return []
    jobs = [Job(program.source, [[x] for x in HIDDEN], program.kind) for program in programs]
    return [list(outcome.values) for outcome in sandbox.run(jobs)]
