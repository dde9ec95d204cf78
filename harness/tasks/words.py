"""Arithmetic word problems in plain English, for language models that can read: one or two steps, small whole numbers.

Generated, so that they exist offline and are split by a hash of what is asked (the kind of story and its numbers);
names and things vary on top and make no new problem.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.tasks.base import Columns, Problem, Split, Task, check_split, hash_split

__all__ = ["STORIES", "Story", "WordProblemsTask"]

SIZES = {"train": 4096, "validation": 500, "test": 1000}
BREVITY_SCALE = 300  # characters at which brevity has fallen to 0
NAMES = ("Ana", "Ben", "Chen", "Dina", "Emil", "Fay", "Gus", "Hana", "Ivan", "Joy", "Kofi", "Lena")
THINGS = ("apples", "books", "cards", "coins", "eggs", "marbles", "pencils", "shells", "stamps", "stickers")
REQUEST = 'Work it out in one short line, then end with "#### " and the number.'

_MARKED = re.compile(r"####\s*\$?(-?\d[\d,]*(?:\.\d+)?)", re.ASCII)
_NUMBER = re.compile(r"(?<![\d.])-?\d[\d,]*(?:\.\d+)?", re.ASCII)
_ENDS_MARKED = re.compile(r"####\s?-?\d+\s*$", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Story:
    """A kind of problem: its text, the largest value of each number, whether numbers fit, and the answer."""

    text: str
    limits: tuple[int, ...]
    answer: Callable[..., int]
    fits: Callable[..., bool] = lambda *_: True


STORIES: dict[str, Story] = {
    "more": Story("{n} has {0} {t} and gets {1} more. How many {t} does {n} have now?", (60, 40), lambda a, b: a + b),
    "fewer": Story(
        "{n} has {0} {t} and gives away {1}. How many {t} are left?",
        (60, 40), lambda a, b: a - b, lambda a, b: a > b,
    ),
    "boxes": Story("{n} has {0} boxes with {1} {t} in each. How many {t} is that?", (12, 12), lambda a, b: a * b),
    "share": Story(
        "{n} shares {0} {t} equally among {1} friends. How many {t} does each friend get?",
        (72, 9), lambda a, b: a // b, lambda a, b: b > 1 and a > b and a % b == 0,
    ),
    "swap": Story(
        "{n} has {0} {t}, finds {1} and then loses {2}. How many {t} does {n} have now?",
        (40, 30, 30), lambda a, b, c: a + b - c, lambda a, b, c: c < a + b,
    ),
    "boxes left": Story(
        "{n} buys {0} bags of {1} {t} and gives {2} of the {t} to a friend. How many {t} are left?",
        (9, 9, 20), lambda a, b, c: a * b - c, lambda a, b, c: c < a * b,
    ),
    "change": Story(
        "{n} buys {0} {t} for {1} dollars each and pays with {2} dollars. How many dollars does {n} get back?",
        (9, 9, 100), lambda a, b, c: c - a * b, lambda a, b, c: a * b < c,
    ),
}  # fmt: skip


@functools.cache
def _split(split: Split) -> tuple[Problem, ...]:
    """All problems of a split: every kind of story in turn, each choice of numbers once."""
    generator = random.Random(f"word-problems/{split}")  # noqa: S311
    seen: set[str] = set()
    found: list[Problem] = []
    kinds = list(STORIES)
    misses = 0
    while len(found) < SIZES[split]:
        kind = kinds[(len(found) + misses) % len(kinds)]
        story = STORIES[kind]
        numbers = [1 + int(generator.random() * limit) for limit in story.limits]
        name = NAMES[int(generator.random() * len(NAMES))]
        thing = THINGS[int(generator.random() * len(THINGS))]
        canonical = f"{kind}:{','.join(map(str, numbers))}"
        if canonical in seen or not story.fits(*numbers) or hash_split(canonical) != split:
            misses += 1  # short stories have few numbers and run out: the others make up for them
            continue
        seen.add(canonical)
        prompt = f"{story.text.format(*numbers, n=name, t=thing)} {REQUEST}"
        data = {"canonical": canonical, "kind": kind}
        found.append(Problem(f"word-problems:{canonical}", prompt, "word-problems", story.answer(*numbers), data))
    return tuple(found)


class WordProblemsTask(Task):
    """Arithmetic word problems of seven kinds.

    Columns: `correct` (the number after the last `####`, else the last number of the text), `format` (the text ends
    with `#### ` and a whole number), `brevity` (1 at length 0, 0 at 300 characters; 0 without any number). A truncated
    text is neither correct nor well formed.
    """

    name = "word-problems"
    columns = ("correct", "format", "brevity")
    correct_column = "correct"

    def __init__(self, reward_weights: dict[str, float] | None = None, max_tokens: int = 64) -> None:
        self.reward_weights = {"correct": 1.0, "format": 0.2, "brevity": 0.1} | (reward_weights or {})
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
        right = [found == problem.answer for found, problem in zip(answers, problems, strict=True)]
        formed = [_ENDS_MARKED.search(text) is not None for text in texts]
        lengths = np.array([len(text) for text in texts], dtype=np.float64)
        said = np.array([found is not None for found in answers], dtype=bool)
        return {
            "correct": (np.array(right, dtype=bool) & done).astype(np.float64),
            "format": (np.array(formed, dtype=bool) & done).astype(np.float64),
            "brevity": np.clip(1 - lengths / BREVITY_SCALE, 0, 1) * said,
        }


def _answer(text: str) -> float | None:
    """The stated number, None where there is none."""
    found = _MARKED.findall(text) or _NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found and len(found[-1]) < 20 else None
