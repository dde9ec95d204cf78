"""The process behind `harness.tasks.verify`: reads pairs of answers, says whether they are equal. Sympy may loop."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from typing import Any

from harness.tasks.plain_eval import guard_sympy
from harness.tasks.worker import serve

__all__ = ["prepare"]

FUNCTIONS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "sqrt", "abs", "max", "min"})


def prepare() -> Callable[[Any], bool]:
    """The function that answers `[gold, text]`, and `[gold, null]` with whether the gold can be read at all."""
    logging.disable(logging.CRITICAL)
    from math_verify import parse, verify

    guard_sympy()  # it evaluates plain formulas of an answer

    def read(text: str) -> Any:
        if "$" not in text and "\\boxed" not in text:
            if _is_prose(text):
                return []
            text = f"${text}$"
        return parse(text, parsing_timeout=None)  # the parent has the clock

    known = functools.lru_cache(maxsize=4096)(read)  # a known answer is parsed once, at load

    def answer(pair: list[Any]) -> bool:
        gold, text = pair
        try:
            parsed = known(gold)
            return bool(parsed) and (text is None or bool(verify(parsed, read(text), timeout_seconds=None)))
        except Exception:  # noqa: BLE001
            return False

    return answer


def _is_prose(text: str) -> bool:
    """Whether a text has words in it, which would be read as products of letters."""
    bare = re.sub(r"\\text\s*\{[^}]*\}|\\[a-zA-Z]+", " ", text)
    return any(word not in FUNCTIONS for word in re.findall(r"[a-zA-Z]{3,}", bare))


if __name__ == "__main__":
    serve(prepare)
