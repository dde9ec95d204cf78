"""Arithmetic word problems in English with integer answers, for language models that read.

Ten kinds of story of one or two steps with small numbers. The model may reason in words; it is asked to end with
`#### 12`, as in GSM8K (arXiv:2110.14168), and a text without the mark is judged by its last number.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from harness.errors import UsageError, nearest
from harness.tasks.answers import find_answer
from harness.tasks.base import Problem, Split, check_split, hash_split
from harness.tasks.short_answers import ShortAnswers

__all__ = ["KINDS", "Kind", "WordProblemTask"]

SIZES = {"train": 8192, "validation": 1000, "test": 1000}
INSTRUCTION = "Think briefly, then end with #### and the number."

PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Iris", "Jack", "Laura", "Max")
THINGS = ("apples", "books", "cards", "coins", "marbles", "pencils", "shells", "stamps", "stickers", "toys")

_WELL_FORMED = re.compile(r".*\n?#### ?-?\d+\s*", re.ASCII | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of story: its text, how its numbers are drawn, and its answer.

    `same` says which numbers may change places without making another problem (those that are added or multiplied).
    """

    text: str
    ranges: tuple[tuple[int, int], ...]
    answer: Callable[..., int]
    allowed: Callable[..., bool] = lambda *_: True
    same: tuple[int, int] | None = None

    def canonical(self, name: str, values: Sequence[int]) -> str:
        """The problem without its names and things."""
        values = list(values)
        if self.same:
            i, j = self.same
            values[i], values[j] = sorted((values[i], values[j]))
        return f"{name}:{','.join(map(str, values))}"


KINDS: dict[str, Kind] = {
    "gain": Kind(
        "{p} has {0} {t}. {q} gives {p} {1} more. How many {t} does {p} have now?",
        ((3, 60), (3, 60)), lambda a, b: a + b, same=(0, 1),
    ),
    "loss": Kind(
        "{p} has {0} {t} and gives {1} of them to {q}. How many {t} does {p} have left?",
        ((5, 90), (2, 80)), lambda a, b: a - b, lambda a, b: b < a,
    ),
    "boxes": Kind(
        "There are {0} boxes with {1} {t} in each box. How many {t} are there in all?",
        ((2, 12), (2, 25)), lambda a, b: a * b,
    ),
    "sharing": Kind(
        "{p} shares {0} {t} equally among {1} friends. How many {t} does each friend get?",
        ((6, 120), (2, 12)), lambda a, b: a // b, lambda a, b: a % b == 0 and a > b,
    ),
    "gain and loss": Kind(
        "{p} has {0} {t}, buys {1} more and then gives {2} to {q}. How many {t} does {p} have now?",
        ((3, 40), (2, 40), (2, 40)), lambda a, b, c: a + b - c, lambda a, b, c: c < a + b, (0, 1),
    ),
    "boxes and more": Kind(
        "{p} has {0} boxes with {1} {t} in each, and {2} more {t}. How many {t} does {p} have in all?",
        ((2, 9), (2, 12), (2, 30)), lambda a, b, c: a * b + c,
    ),
    "boxes and fewer": Kind(
        "{p} fills {0} boxes with {1} {t} each. Then {q} takes {2} {t}. How many {t} are left?",
        ((2, 9), (2, 12), (2, 30)), lambda a, b, c: a * b - c, lambda a, b, c: c < a * b,
    ),
    "together": Kind(
        "{p} has {0} {t}. {q} has {1} fewer {t} than {p}. How many {t} do they have together?",
        ((4, 60), (2, 50)), lambda a, b: a + a - b, lambda a, b: b < a,
    ),
    "change": Kind(
        "A book costs {0} dollars. {p} buys {1} books and pays with {2} dollars. How many dollars does {p} get back?",
        ((2, 12), (2, 8), (20, 100)), lambda a, b, c: c - a * b, lambda a, b, c: a * b < c,
    ),
    "pages": Kind(
        "{p} reads {0} pages a day for {1} days. The book has {2} pages. How many pages are left to read?",
        ((3, 20), (2, 9), (20, 250)), lambda a, b, c: c - a * b, lambda a, b, c: a * b < c,
    ),
}  # fmt: skip


@functools.cache
def _split(split: Split) -> tuple[Problem, ...]:
    """All problems of a split: a fixed stream over the kinds in turn, each canonical problem once."""
    generator = random.Random(f"word-problems/{split}")  # noqa: S311
    seen: set[str] = set()
    found: list[Problem] = []
    names = list(KINDS)

    def pick(choices: Sequence[Any]) -> Any:
        return choices[int(generator.random() * len(choices))]

    turn = tries = 0
    while len(found) < SIZES[split]:
        name = names[turn % len(names)]
        kind = KINDS[name]
        values = [low + int(generator.random() * (high - low + 1)) for low, high in kind.ranges]
        canonical = kind.canonical(name, values)
        tries += 1
        if not kind.allowed(*values) or canonical in seen or hash_split(canonical) != split:
            if tries > 300:  # a kind of two small numbers has only so many problems: these are all, or nearly
                names.remove(name)
                tries = 0
            continue
        p, q = pick(PEOPLE), pick(PEOPLE)
        while q == p:
            q = pick(PEOPLE)
        story = kind.text.format(*values, p=p, q=q, t=pick(THINGS))
        seen.add(canonical)
        turn, tries = turn + 1, 0
        key = f"word-problems:{canonical}"
        data = {"kind": name, "canonical": canonical, "question": story}
        found.append(Problem(key, f"{story}\n{INSTRUCTION}", "word-problems", kind.answer(*values), data))
    return tuple(found)


class WordProblemTask(ShortAnswers):
    """Arithmetic word problems.

    Columns: `correct` (the number behind the last `####`, without one the last number of the text), `format` (the text
    ends with `#### ` and an integer), `brevity` (1 at length 0, 0 at 400 characters; 0 without any number). A
    truncated text is neither correct nor well formed.

    `kinds` keeps only these kinds of story, `most` only answers up to it: small models need small problems.
    """

    name = "word-problems"
    brevity_scale = 400

    def __init__(
        self,
        reward_weights: dict[str, float] | None = None,
        max_tokens: int = 64,
        kinds: Sequence[str] | None = None,
        most: int | None = None,
    ) -> None:
        for kind in kinds or ():
            if kind not in KINDS:
                raise UsageError(f"word-problems has no kind {kind!r}.{nearest(kind, KINDS)}")
        self.kinds = frozenset(kinds or KINDS)
        self.most = most
        self.reward_weights = {"correct": 1.0, "format": 0.2, "brevity": 0.1} | (reward_weights or {})
        self.max_tokens = max_tokens

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split."""
        check_split(split)
        chosen = [
            p for p in _split(split) if p.data["kind"] in self.kinds and (self.most is None or p.answer <= self.most)
        ]
        return chosen[:limit]

    def stated(self, text: str) -> Fraction | None:
        """The number behind the last `####`, without one the last of the text."""
        return find_answer(text)

    def well_formed(self, text: str) -> bool:
        """Any text that ends with `####` and an integer."""
        return _WELL_FORMED.fullmatch(text) is not None
