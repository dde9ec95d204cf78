"""The mixture of behaviours that the embedded policy is warmed up on.

The better behaviour of each task is in it, is longer, and is under-used: in math a scratchpad, in code an expression
that leaves the last subtraction to Python. Beside them stand answers at once, sloppy spellings that lose the format,
and look-ups which fit the shown examples and nothing else. What a learner can gain is to prefer the better behaviour,
and beyond that to become more accurate in it.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Mapping

from harness.tasks.base import hash_split
from harness.tasks.functions import FAMILIES, SHOWN, Function, functions
from harness.tasks.math import canonical_sum, draw_terms, prompt_of, scratchpad

__all__ = ["MIXTURE", "SKILLS", "Example", "Examples", "Shares", "code_behaviour", "math_behaviour"]

Shares = Mapping[str, Mapping[str, float]]

SKILLS: Shares = {"math": {"direct": 0.35, "scratchpad": 0.65}, "code": {"direct": 0.5, "anchored": 0.5}}
MIXTURE: Shares = {
    "math": {"direct": 0.55, "scratchpad": 0.15, "unmarked": 0.20, "unmarked scratchpad": 0.10},
    "code": {"direct": 0.43, "anchored": 0.15, "wrapped": 0.17, "look-up": 0.25},
}
OPERANDS = (2, 2, 2, 3, 3, 3, 4, 4)  # shorter problems than the task's: most of what is to be learned is one step
_WRAPPINGS = ("f(x)=", "return ")
_ANCHORED = re.compile(r"[+-]\d+[+-]\d+$", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Example:
    """One text to imitate."""

    task: str
    behaviour: str
    prompt: str
    completion: str


class Examples:
    """An endless stream of examples of both tasks in turn, a pure function of its seed; train problems only."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"warmstart/{seed}")  # noqa: S311
        self._families: dict[str, list[Function]] = {family: [] for family in FAMILIES}
        for function in functions():
            if function.split == "train":
                self._families[function.family].append(function)

    def take(self, count: int, shares: Shares) -> list[Example]:
        """The next `count` examples, behaviours drawn by `shares`: even places math, odd places code."""
        return [self._code(shares["code"]) if place % 2 else self._math(shares["math"]) for place in range(count)]

    def _math(self, shares: Mapping[str, float]) -> Example:
        while hash_split(canonical_sum(terms := draw_terms(self._random, OPERANDS))) != "train":
            pass
        behaviour = self._pick(shares)
        mark = "" if behaviour.startswith("unmarked") else "#"
        steps = scratchpad(terms) if behaviour.endswith("scratchpad") else ""
        if steps and not mark:
            return Example("math", behaviour, prompt_of(terms), steps[:-1])
        return Example("math", behaviour, prompt_of(terms), f"{steps}{mark}{sum(terms)}")

    def _code(self, shares: Mapping[str, float]) -> Example:
        family = list(self._families)[int(self._random.random() * len(self._families))]
        choices = self._families[family]
        function = choices[int(self._random.random() * len(choices))]
        inputs: tuple[int, ...] = ()
        while not inputs or not function.shows_enough(inputs):
            inputs = tuple(sorted(sorted(SHOWN, key=lambda _: self._random.random())[:4]))
        values = [function.shown[x - SHOWN[0]] for x in inputs]
        pairs = ",".join(f"{x}:{y}" for x, y in zip(inputs, values, strict=True))
        behaviour = self._pick(shares)
        if behaviour == "anchored" and function.offset is None:
            behaviour = "direct"  # there is nothing to leave to Python
        if behaviour == "look-up":
            completion = "{" + pairs + "}[x]"
        elif behaviour == "anchored":
            completion = _anchored(function, values[0])
        elif behaviour == "wrapped":
            completion = _WRAPPINGS[int(self._random.random() * len(_WRAPPINGS))] + function.text
        else:
            completion = function.text
        return Example("code", behaviour, pairs + ">", completion)

    def _pick(self, shares: Mapping[str, float]) -> str:
        place = self._random.random() * sum(shares.values())
        for behaviour, share in shares.items():
            place -= share
            if place < 0:
                return behaviour
        return behaviour


def _anchored(function: Function, first: int) -> str:
    """The expression with its offset left to Python: `7*x+1-14` for a function that is worth 1 where 7*x is 14."""
    assert function.offset is not None
    return f"{function.core}{first:+d}{function.offset - first:+d}"


def math_behaviour(text: str) -> str:
    """Which behaviour a math completion shows."""
    steps = "=" in text
    if "#" in text:
        return "scratchpad" if steps else "direct"
    return "unmarked scratchpad" if steps else "unmarked"


def code_behaviour(text: str) -> str:
    """Which behaviour a code completion shows."""
    if "{" in text or "[x]" in text:
        return "look-up"
    if text.startswith(_WRAPPINGS):
        return "wrapped"
    return "anchored" if _ANCHORED.search(text) else "direct"
