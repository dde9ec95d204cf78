"""Chained integer arithmetic: `23+48-7=` asks for `#64`, with or without a scratchpad `23+48=71;71-7=64;` before it.

A problem has 2 to 4 operands of 1 to 50, joined by + and -. The scratchpad costs tokens and makes the answer likelier;
dropping the `#` saves a character and loses the format. So `correct`, `format` and `brevity` pull against each other.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence

import numpy as np

from harness.tasks.base import Problem, Split, check_split, hash_split
from harness.tasks.short_answers import ShortAnswers

__all__ = ["MathTask", "canonical_sum", "draw_terms", "prompt_of", "scratchpad"]

OPERANDS = (2, 3, 3, 4, 4)  # how many a problem has, each as often as it stands here
LARGEST = 50
SIZES = {"train": 16384, "validation": 1000, "test": 1000}

_NUMBER = r"(?:0|-?[1-9]\d*)"
_WELL_FORMED = re.compile(rf"(?:{_NUMBER}[+-]\d+={_NUMBER};)*#{_NUMBER}", re.ASCII)
_MARKED = re.compile(r"#\s*(-?\d+)", re.ASCII)
_INTEGER = re.compile(r"(?<!\d)-?\d+", re.ASCII)
_STEP = re.compile(r"(-?\d+)([+-]\d+)=(-?\d+)", re.ASCII)


def canonical_sum(terms: Sequence[int]) -> str:
    """The problem up to the order of its terms: `23+48-7`, `48+23-7` and `48-7+23` are one problem."""
    return "sum:" + ",".join(map(str, sorted(terms)))


def prompt_of(terms: Sequence[int]) -> str:
    """The terms as a prompt: (23, 48, -7) is `23+48-7=`."""
    return str(terms[0]) + "".join(f"{term:+d}" for term in terms[1:]) + "="


def scratchpad(terms: Sequence[int]) -> str:
    """The correct scratchpad of the terms, one step an operation: `23+48=71;71-7=64;`."""
    steps, total = [], terms[0]
    for term in terms[1:]:
        steps.append(f"{total}{term:+d}={total + term};")
        total += term
    return "".join(steps)


def draw_terms(generator: random.Random, operands: Sequence[int] = OPERANDS) -> tuple[int, ...]:
    """Signed terms of a random problem. Uses only `random()`, whose stream Python keeps stable."""
    count = operands[int(generator.random() * len(operands))]
    values = [1 + int(generator.random() * LARGEST) for _ in range(count)]
    return (values[0], *(v if generator.random() < 0.5 else -v for v in values[1:]))


@functools.cache
def _split(split: Split) -> tuple[Problem, ...]:
    """All problems of a split: draws of a fixed stream whose canonical form hashes into it, each form once."""
    generator = random.Random(f"math/{split}")  # noqa: S311
    seen: set[str] = set()
    found: list[Problem] = []
    while len(found) < SIZES[split]:
        terms = draw_terms(generator)
        canonical = canonical_sum(terms)
        if canonical in seen or hash_split(canonical) != split:
            continue
        seen.add(canonical)
        prompt = prompt_of(terms)
        data = {"terms": terms, "canonical": canonical}
        found.append(Problem(key=f"math:{prompt[:-1]}", prompt=prompt, task="math", answer=sum(terms), data=data))
    return tuple(found)


class MathTask(ShortAnswers):
    """Chained integer arithmetic with an optional scratchpad.

    Columns: `correct` (the number after the last `#`, else the last number of the text, is the sum), `format` (an
    optional scratchpad of steps `a+b=c;`, then `#` and the number, nothing else), `brevity` (1 at length 0, 0 at 40
    characters; 0 without any number, so that silence earns nothing) and the token column `steps` (1/n on the token
    that ends a right scratchpad step of n). A truncated text is neither correct nor well formed.
    """

    name = "math"
    token_column_names = ("steps",)
    brevity_scale = 40

    def __init__(self, reward_weights: dict[str, float] | None = None, max_tokens: int = 40) -> None:
        # An outcome reward by default: `steps` is measured, and trains only where a suite gives it a weight.
        self.reward_weights = {"correct": 1.0, "format": 0.2, "brevity": 0.1, "steps": 0.0} | (reward_weights or {})
        self.max_tokens = max_tokens

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split."""
        check_split(split)
        return _split(split)[:limit]

    def stated(self, text: str) -> int | None:
        """The number after the last `#`, without one the last of the text."""
        marked = _MARKED.findall(text)
        found = marked[-1] if marked else next(reversed(_INTEGER.findall(text)), None)
        return None if found is None or len(found) > 12 else int(found)

    def well_formed(self, text: str) -> bool:
        """Steps, if any, then `#` and the number; nothing else."""
        return _WELL_FORMED.fullmatch(text) is not None

    def token_columns(self, problem: Problem, token_texts: Sequence[str]) -> dict[str, list[float]]:
        """`steps`: step i is right if it starts from what step i-1 stated, applies term i, and adds up."""
        terms: Sequence[int] = problem.data["terms"]
        text, values = "".join(token_texts), [0.0] * len(token_texts)
        ends = np.cumsum([len(token) for token in token_texts])
        running, worth = str(terms[0]), 1 / (len(terms) - 1)
        for term, step in zip(terms[1:], _STEP.finditer(text), strict=False):
            left, applied, result = step.groups()
            if left == running and applied == f"{term:+d}" and len(left) < 12 and int(left) + term == int(result[:12]):
                values[int(np.searchsorted(ends, step.end(), side="left"))] += worth
            running = result
        return {"steps": values}
