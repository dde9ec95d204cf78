"""Comparing a model's answer with the known one: numbers here, algebra by math-verify in a process that may die."""

from __future__ import annotations

import functools
from fractions import Fraction

from harness.tasks.answers import number
from harness.tasks.worker import Worker

__all__ = ["MathVerifier", "quick_equal"]

MAX_LENGTH = 500  # characters: no answer is longer
TROUBLE = "math-verify cannot start; check that math-verify[antlr4_13_2] is installed"


def quick_equal(gold: str, answer: str) -> bool | None:
    """Whether two answers are equal where a look decides it; None where it takes algebra."""
    if " ".join(gold.split()) == " ".join(answer.split()):
        return True
    left, right = number(gold), number(answer)
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return None


class MathVerifier:
    """Equality of mathematical answers, each within `seconds` of wall-clock time.

    One that takes too long, or brings the process down, counts as wrong and in `timeouts`. `close` ends the process.
    """

    def __init__(self, seconds: float = 3.0) -> None:
        self._worker = Worker("harness.tasks.math_worker", seconds, TROUBLE)
        self._cached = functools.lru_cache(maxsize=4096)(self._ask)

    @property
    def timeouts(self) -> int:
        """Comparisons that took too long or brought the process down."""
        return self._worker.timeouts

    def readable(self, gold: str) -> bool:
        """Whether a known answer can be read at all: one that cannot must not be trained on."""
        return bool(gold.strip()) and len(gold) <= MAX_LENGTH and (number(gold) is not None or self._cached(gold, None))

    def equal(self, gold: str, answer: str) -> bool:
        """Whether `answer` is the known answer `gold`."""
        quick = quick_equal(gold, answer)
        if quick is not None:
            return quick
        return len(answer) <= MAX_LENGTH and self._cached(gold, answer)

    def _ask(self, gold: str, answer: str | None) -> bool:
        return bool(self._worker.ask([gold, answer]))

    def close(self) -> None:
        """End the process; the next question starts another."""
        self._worker.close()
