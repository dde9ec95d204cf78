"""My task: sorting digits. The prompt `4132=` asks for `1234`."""

import random
from functools import cache

import numpy as np

from harness.tasks.base import Problem, Task, check_split, hash_split

SIZES = {"train": 2000, "validation": 200, "test": 200}


@cache
def _problems(split):
    """All problems of a split, drawn from a fixed stream; the hash of a problem decides where it belongs."""
    generator = random.Random(f"my-task/{split}")
    found = {}
    while len(found) < SIZES[split]:
        digits = "".join(str(int(generator.random() * 10)) for _ in range(3 + int(generator.random() * 3)))
        if hash_split("".join(sorted(digits))) == split:  # 12 and 21 are one problem, and never in two splits
            found[f"my-task:{digits}"] = digits
    return tuple(
        Problem(key, prompt=f"{digits}=", task="my-task", answer="".join(sorted(digits)))
        for key, digits in found.items()
    )


class MyTask(Task):
    """Sort the digits of a number.

    Columns: `correct` (the text is the sorted digits) and `placed` (share of digits in their place).
    """

    name = "my-task"
    columns = ("correct", "placed")
    correct_column = "correct"

    def __init__(self, reward_weights=None, max_tokens=8):
        self.reward_weights = {"correct": 1.0, "placed": 0.5} | (reward_weights or {})
        self.max_tokens = max_tokens

    def problems(self, split, limit=None):
        """The first `limit` problems of a split, always the same."""
        check_split(split)
        return _problems(split)[:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        """Columns [M]; a text without an end is not correct."""
        right = [text == p.answer and not cut for p, text, cut in zip(problems, texts, truncated, strict=True)]
        placed = [_placed(p.answer, text) for p, text in zip(problems, texts, strict=True)]
        return {"correct": np.array(right, dtype=float), "placed": np.array(placed)}


def _placed(answer, text):
    return sum(a == b for a, b in zip(answer, text, strict=False)) / max(len(answer), len(text))
