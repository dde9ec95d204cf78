"""The process behind `harness.tasks.verify`: reads pairs of answers as JSON lines, says whether they are equal.

sympy may loop or crash on what a model writes, so this runs where it can be killed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from typing import Any

__all__ = ["main"]

MEMORY = 4 << 30
FUNCTIONS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "sqrt", "abs", "max", "min"})


def main() -> None:
    """Answer `[gold, text]` with true or false, `[gold, null]` with whether the gold can be read at all."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    logging.disable(logging.CRITICAL)
    _limit_memory()
    from math_verify import parse, verify

    def read(text: str) -> Any:
        if "$" not in text and "\\boxed" not in text:
            if _is_prose(text):
                return []
            text = f"${text}$"
        return parse(text, parsing_timeout=None)  # the parent has the clock

    replies.write("ready\n")
    replies.flush()
    for line in sys.stdin:
        gold, text = json.loads(line)
        try:
            known = read(gold)
            equal = (
                bool(known) if text is None else bool(known) and bool(verify(known, read(text), timeout_seconds=None))
            )
        except Exception:  # noqa: BLE001
            equal = False
        replies.write(json.dumps(equal) + "\n")
        replies.flush()


def _is_prose(text: str) -> bool:
    """Whether a text has words in it, which would be read as products of letters."""
    bare = re.sub(r"\\text\s*\{[^}]*\}|\\[a-zA-Z]+", " ", text)
    return any(word not in FUNCTIONS for word in re.findall(r"[a-zA-Z]{3,}", bare))


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):
        return


if __name__ == "__main__":
    main()
