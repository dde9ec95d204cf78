"""Comparing a model's answer with the known one: numbers here, algebra by math-verify in a process that may die."""

from __future__ import annotations

import functools
import re
from fractions import Fraction

from harness.tasks.answers import number
from harness.tasks.worker import Worker

__all__ = ["MathVerifier", "quick_equal"]

MAX_LENGTH = 500  # characters: no answer is longer
_SPACE = re.compile(r"\\[!,;:]")  # of LaTeX, as in 1\,000
_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
TROUBLE = "math-verify cannot start; check that math-verify[antlr4_13_2] is installed"


def quick_equal(gold: str, answer: str) -> bool | None:
    """Whether two answers are equal where a look decides it; None where it takes algebra."""
    if _bare(gold) == _bare(answer):
        return True
    left, right = number(gold), number(answer)
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return None


def _bare(text: str) -> str:
    r"""A text without spacing around it, and without the braces of one that is words: \text{odd} says odd."""
    words = _WORDS.fullmatch(text.strip())
    return " ".join((words[1] if words else text).split())


def _cleaned(text: str) -> str:
    r"""An answer without what changes no value and is read wrongly: \$12.50, 1\,000, **34**."""
    return _SPACE.sub("", text).replace("\\$", "").strip(" \t\n*")


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
        gold = _cleaned(gold)
        return bool(gold) and len(gold) <= MAX_LENGTH and (number(gold) is not None or self._cached(gold, None))

    def equal(self, gold: str, answer: str) -> bool:
        """Whether `answer` is the known answer `gold`."""
        gold, answer = _cleaned(gold), _cleaned(answer)
        quick = quick_equal(gold, answer)
        if quick is not None:
            return quick
        return len(answer) <= MAX_LENGTH and self._cached(gold, answer)

    def _ask(self, gold: str, answer: str | None) -> bool:
        return bool(self._worker.ask([gold, answer]))

    def close(self) -> None:
        """End the process; the next question starts another."""
        self._worker.close()
