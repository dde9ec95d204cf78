"""The checks of a task: ours pass, and each fault fails the check that is meant for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness.conformance.tasks import TASK_CHECKS, task_tests
from harness.errors import CheckFailed
from harness.tasks.base import Problem, Task

test_math = task_tests("math")
test_code = task_tests("code")
test_word_problems = task_tests("word-problems")
test_python_functions = task_tests("python-functions")


class Echo(Task):
    """Say the word again."""

    name = "echo"
    columns = ("correct",)
    correct_column = "correct"
    reward_weights = {"correct": 1.0}  # noqa: RUF012

    def problems(self, split, limit=None):
        words = [f"{split}{i}" for i in range(40)]
        return [Problem(f"echo:{word}", f"{word}=", "echo", word) for word in words][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        right = [text == p.answer and not cut for p, text, cut in zip(problems, texts, truncated, strict=True)]
        return {"correct": np.array(right, dtype=float)}


class Leaky(Echo):
    def problems(self, split, limit=None):
        return super().problems("train", limit)


class Doubled(Echo):
    def problems(self, split, limit=None):
        return [*super().problems(split), super().problems(split)[0]][:limit]


class Wandering(Echo):
    count = itertools.count()

    def problems(self, split, limit=None):
        return [Problem(f"echo:{split}{next(self.count)}", f"{split}{i}=", "echo", str(i)) for i in range(9)][:limit]


class Undeclared(Echo):
    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return super().score_texts(problems, texts, truncated) | {"style": np.ones(len(texts))}


class Infinite(Echo):
    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return {"correct": np.array([1 / len(text) if text else np.inf for text in texts])}


class Partial(Echo):
    """A style that only right answers have; nobody else's is scored."""

    columns = ("correct", "style")
    reward_weights = {"correct": 1.0, "style": 0.1}  # noqa: RUF012

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        found = super().score_texts(problems, texts, truncated)
        return found | {"style": np.where(found["correct"] > 0, 1.0, np.nan)}


class Silent(Echo):
    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return {"correct": np.full(len(texts), np.nan)}


class Relative(Echo):
    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        lengths = np.array([len(text) for text in texts], dtype=float)
        return {"correct": (lengths >= (lengths.max() if len(lengths) else 0)).astype(float)}


class Lenient(Echo):
    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return super().score_texts(problems, texts, [False] * len(texts))


class Ragged(Echo):
    token_column_names = ("steps",)
    reward_weights = {"correct": 1.0, "steps": 0.0}  # noqa: RUF012

    def token_columns(self, problem, token_texts):
        return {"steps": [0.0]}


@pytest.mark.parametrize("check", list(TASK_CHECKS))
def test_a_sound_task_passes(check):
    TASK_CHECKS[check](Echo())


@pytest.mark.parametrize("check", ["columns", "order", "truncation"])
def test_a_column_may_not_apply_to_every_text(check):
    """NaN, as running accepts it."""
    TASK_CHECKS[check](Partial())


@pytest.mark.parametrize(
    ("task", "check"),
    [
        (Leaky, "splits"), (Doubled, "splits"), (Wandering, "repeatable"), (Undeclared, "columns"),
        (Infinite, "columns"), (Silent, "columns"), (Relative, "order"), (Lenient, "truncation"),
        (Ragged, "token-columns"),
    ],
)  # fmt: skip
def test_a_fault_fails_its_check(task, check):
    with pytest.raises(CheckFailed):
        TASK_CHECKS[check](task())
