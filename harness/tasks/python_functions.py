"""Small Python functions asked for in English, for language models that read: "returns 4 times x minus 7".

Every problem is one of 27 kinds with parameters of its own. Hidden calls decide; their values are compared outside the
sandbox, and no example stands in the prompt.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

from harness.errors import UsageError, nearest
from harness.tasks.asserts import Asserts, Check
from harness.tasks.base import Columns, Problem, Split, Task, check_split, hash_split
from harness.tasks.programs import fence_end, program_text, score_programs

__all__ = ["KINDS", "Kind", "PythonFunctionTask"]

MOST = {"train": 80, "validation": 10, "test": 10}  # problems of one kind
INSTRUCTION = "Answer with the code alone."
LETTERS = string.ascii_lowercase

NUMBERS = (-7, -1, 0, 1, 4, 9, 30, 75)
LISTS: tuple[list[int], ...] = (
    [], [5], [3, 8, 1, 6, 12, 2], [10, 4, 4, 7, 0, 9, 15, 3, 11, 6, 2, 5], [-2, 20, 6, 14, 3], list(range(-3, 120)),
)  # fmt: skip
FILLED = LISTS[1:]
TEXTS = (
    "", "a", "tree", "roses are red", "Otter", "a store in the east", "information overload", "fox",
    "The quick brown fox jumps over the lazy dog",
)  # fmt: skip

Parameters = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of function: its signature, what it returns in words, how parameters are drawn, and its value.

    `value` takes the argument and the parameters; `calls` are the arguments that decide.
    """

    signature: str
    words: str
    draws: tuple[Sequence[Any], ...]
    value: Callable[..., Any]
    calls: Sequence[Any]
    allowed: Callable[..., bool] = lambda *_: True

    def prompt(self, parameters: Parameters) -> str:
        """What the model reads."""
        said = self.words.format(*parameters)
        return f"Write a Python function `{self.signature}` that returns {said}. {INSTRUCTION}"

    def tests(self, parameters: Parameters) -> Asserts:
        """The hidden calls."""
        name = self.signature.partition("(")[0]
        return Asserts(tuple(Check(name, repr(([x], {})), self.value(x, *parameters)) for x in self.calls))


_SMALL, _MANY, _WIDE = range(2, 13), range(2, 61), range(1, 81)

KINDS: dict[str, Kind] = {
    "times plus": Kind("scale(x)", "{0} times x plus {1}", (_SMALL, _WIDE), lambda x, a, b: a * x + b, NUMBERS),
    "times minus": Kind("scale(x)", "{0} times x minus {1}", (_SMALL, _WIDE), lambda x, a, b: a * x - b, NUMBERS),
    "plus": Kind("add(x)", "x plus {0}", (_WIDE,), lambda x, a: x + a, NUMBERS),
    "square": Kind("square(x)", "the square of x, plus {0}", (_WIDE,), lambda x, a: x * x + a, NUMBERS),
    "remainder": Kind("rest(x)", "the remainder of x divided by {0}", (_MANY,), lambda x, a: x % a, NUMBERS),
    "floor": Kind("part(x)", "x divided by {0}, rounded down", (_MANY,), lambda x, a: x // a, NUMBERS),
    "distance": Kind("distance(x)", "the absolute difference of x and {0}", (_WIDE,), lambda x, a: abs(x - a), NUMBERS),
    "at most": Kind("limit(x)", "x, but never more than {0}", (_MANY,), min, NUMBERS),
    "divisible": Kind(
        "divisible(x)", "True if x is divisible by {0}, else False", (_MANY,), lambda x, a: x % a == 0,
        (*NUMBERS, *range(13, 61)),
    ),
    "scaled": Kind("scaled(numbers)", "the list of all numbers times {0}", (_MANY,),
                   lambda xs, a: [a * x for x in xs], LISTS),
    "shifted": Kind("shifted(numbers)", "the list of all numbers plus {0}", (_WIDE,),
                    lambda xs, a: [x + a for x in xs], LISTS),
    "above": Kind("above(numbers)", "the list of those numbers that are greater than {0}", (_WIDE,),
                  lambda xs, a: [x for x in xs if x > a], LISTS),
    "below": Kind("below(numbers)", "the list of those numbers that are less than {0}", (_WIDE,),
                  lambda xs, a: [x for x in xs if x < a], LISTS),
    "count above": Kind("count(numbers)", "how many of the numbers are greater than {0}", (_WIDE,),
                        lambda xs, a: sum(x > a for x in xs), LISTS),
    "sum of multiples": Kind("total(numbers)", "the sum of those numbers that are divisible by {0}", (_SMALL,),
                             lambda xs, a: sum(x for x in xs if x % a == 0), LISTS),
    "total": Kind("total(numbers)", "the sum of the numbers, minus {0}", (_WIDE,), lambda xs, a: sum(xs) - a, LISTS),
    "largest": Kind("largest(numbers)", "the largest of the numbers, plus {0}", (_WIDE,),
                    lambda xs, a: max(xs) + a, FILLED),
    "first": Kind("first(items)", "the first {0} elements of the list", (_MANY,), lambda xs, a: xs[:a], LISTS),
    "last": Kind("last(items)", "the last {0} elements of the list", (_MANY,), lambda xs, a: xs[-a:], LISTS),
    "without": Kind("without(items)", "the list without the elements that are equal to {0}", (_WIDE,),
                    lambda xs, a: [x for x in xs if x != a], LISTS),
    "repeat": Kind("repeat(text)", "the text {0} times in a row", (_MANY,), lambda s, a: s * a, TEXTS),
    "count letter": Kind("count(text)", "how many times the letter '{0}' occurs in the text", (LETTERS,),
                         lambda s, a: s.count(a), TEXTS),
    "remove": Kind("remove(text)", "the text without the letter '{0}'", (LETTERS,),
                   lambda s, a: s.replace(a, ""), TEXTS),
    "replace": Kind("replace(text)", "the text with every '{0}' replaced by '{1}'", (LETTERS, LETTERS),
                    lambda s, a, b: s.replace(a, b), TEXTS, lambda a, b: a != b),
    "starts": Kind("starts(text)", "True if the text starts with '{0}', else False", (LETTERS,),
                   lambda s, a: s.startswith(a), (*TEXTS, *(letter * 2 for letter in LETTERS))),
    "append": Kind("append(text)", "the text with '{0}' added {1} times at its end", (LETTERS, range(2, 6)),
                   lambda s, a, b: s + a * b, TEXTS),
    "longer": Kind("longer(text)", "True if the text has more than {0} characters, else False", (_WIDE,),
                   lambda s, a: len(s) > a, tuple("x" * n for n in range(82))),
}  # fmt: skip


@functools.cache
def _split(split: Split) -> tuple[Problem, ...]:
    """All problems of a split: a fixed stream over the kinds in turn, each problem once."""
    generator = random.Random(f"python-functions/{split}")  # noqa: S311
    found: list[Problem] = []
    left = {name: _all_of(name, split) for name in KINDS}
    for problems in left.values():
        generator.shuffle(problems)
    for turn in range(MOST[split]):
        found += [problems[turn] for problems in left.values() if turn < len(problems)]
    return tuple(found)


def _all_of(name: str, split: Split) -> list[Problem]:
    """Every problem of a kind that the hash of its parameters puts into the split."""
    kind, found = KINDS[name], []
    for parameters in itertools.product(*kind.draws):
        canonical = f"{name}:{','.join(map(str, parameters))}"
        if kind.allowed(*parameters) and hash_split(canonical) == split:
            data = {"kind": name, "canonical": canonical, "prefix": ""}
            key = f"python-functions:{canonical}"
            found.append(Problem(key, kind.prompt(parameters), "python-functions", kind.tests(parameters), data))
    return found


class PythonFunctionTask(Task):
    """Small Python functions in English, 27 kinds.

    Columns: `correct` (every hidden call returns what it must), `pass_fraction` (the share of calls that do) and
    `format` (it is Python). The first fenced block is the program, without one the whole text; what follows the
    block's end is ignored. A text that is cut before that has none of the columns.

    `kinds` keeps only these kinds of function.
    """

    name = "python-functions"
    columns = ("correct", "pass_fraction", "format")
    correct_column = "correct"
    needs_sandbox = True

    def __init__(
        self,
        reward_weights: dict[str, float] | None = None,
        max_tokens: int = 64,
        kinds: Sequence[str] | None = None,
    ) -> None:
        if kinds is not None and (isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds):
            raise UsageError(f"python-functions: kinds is a list of kinds, such as [{min(KINDS)}], not {kinds!r}")
        for kind in kinds or ():
            if kind not in KINDS:
                raise UsageError(f"python-functions has no kind {kind!r}.{nearest(kind, KINDS)}")
        self.kinds = frozenset(kinds or KINDS)
        self.reward_weights = {"correct": 1.0, "pass_fraction": 0.0, "format": 0.1} | (reward_weights or {})
        self.max_tokens = max_tokens

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split."""
        check_split(split)
        return [p for p in _split(split) if p.data["kind"] in self.kinds][:limit]

    def ended(self, text: str, truncated: bool) -> tuple[str, bool]:
        """The text up to the end of its first fenced block: what comes after it is talk."""
        end = fence_end(text)
        return (text, truncated) if end is None else (text[:end], False)

    def score_texts(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
    ) -> Columns:
        """The columns, each [M]."""
        ends = [self.ended(text, bool(cut)) for text, cut in zip(texts, truncated, strict=True)]
        programs = [None if cut else program_text(text) for text, cut in ends]
        return score_programs(programs, [p.answer for p in problems], sandbox, self.name)
