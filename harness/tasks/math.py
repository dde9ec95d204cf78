"""Chained integer arithmetic: `23+48-7=` asks for `#64`, with or without a scratchpad `23+48=71;71-7=64;` before it.

A problem has 2 to 4 operands of 1 to 50, joined by + and -. The scratchpad costs tokens and makes the answer likelier;
dropping the `#` saves a character and loses the format. So `correct`, `format` and `brevity` pull against each other.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.tasks.base import Columns, Problem, Split, Task, check_split, hash_split

__all__ = ["MathTask", "canonical_sum", "draw_terms", "prompt_of", "scratchpad"]

OPERANDS = (2, 3, 3, 4, 4)  # how many a problem has, each as often as it stands here
LARGEST = 50
SIZES = {"train": 16384, "validation": 1000, "test": 1000}
BREVITY_SCALE = 40  # characters at which brevity has fallen to 0

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


class MathTask(Task):
    """Chained integer arithmetic with an optional scratchpad.

    Columns: `correct` (the number after the last `#`, else the last number of the text, is the sum), `format` (an
    optional scratchpad of steps `a+b=c;`, then `#` and the number, nothing else), `brevity` (1 at length 0, 0 at 40
    characters; 0 without any number, so that silence earns nothing) and the token column `steps` (1/n on the token
    that ends a right scratchpad step of n). A truncated text is neither correct nor well formed.
    """

    name = "math"
    columns = ("correct", "format", "brevity")
    token_column_names = ("steps",)
    correct_column = "correct"

    def __init__(self, reward_weights: dict[str, float] | None = None, max_tokens: int = 40) -> None:
        # An outcome reward by default: `steps` is measured, and trains only where a suite gives it a weight.
        self.reward_weights = {"correct": 1.0, "format": 0.2, "brevity": 0.1, "steps": 0.0} | (reward_weights or {})
        self.max_tokens = max_tokens

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split."""
        check_split(split)
        return _split(split)[:limit]

    def score_texts(
        self,
        problems: Sequence[Problem],
        texts: Sequence[str],
        truncated: Sequence[bool],
        *,
        sandbox: Any = None,  # noqa: ARG002
    ) -> Columns:
        """Columns `correct`, `format`, `brevity`, each [M]."""
        done = ~np.asarray(truncated, dtype=bool)
        answers = [_answer(text) for text in texts]
        right = [found == str(problem.answer) for found, problem in zip(answers, problems, strict=True)]
        formed = [_WELL_FORMED.fullmatch(text) is not None for text in texts]
        lengths = np.array([len(text) for text in texts], dtype=np.float64)
        said = np.array([found is not None for found in answers], dtype=bool)
        return {
            "correct": (np.array(right, dtype=bool) & done).astype(np.float64),
            "format": (np.array(formed, dtype=bool) & done).astype(np.float64),
            "brevity": np.clip(1 - lengths / BREVITY_SCALE, 0, 1) * said,
        }

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


def _answer(text: str) -> str | None:
    """The canonical digits of the stated answer, None where no number is stated."""
    marked = _MARKED.findall(text)
    found = marked[-1] if marked else next(reversed(_INTEGER.findall(text)), None)
    if found is None or len(found) > 12:
        return None
    return str(int(found))
