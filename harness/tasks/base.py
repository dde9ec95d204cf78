"""What a task is: prompts split by a hash of the problem, and a scorer that turns texts into reward columns."""

from __future__ import annotations

import abc
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from harness.errors import UsageError, nearest

__all__ = ["SPLITS", "Columns", "Problem", "Split", "Task", "check_split", "hash_split", "stable_hash"]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Columns = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One prompt and what is needed to score a completion of it.

    `key` names the problem in every log and keys its sampling noise; it starts with the task's name and is unique.
    """

    key: str
    prompt: str
    task: str
    answer: Any
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Task(abc.ABC):
    """A source of problems and a scorer. A subclass sets the class attributes and implements the two methods.

    `columns` are the reward columns that `score_texts` gives, `token_column_names` those that `token_columns` gives;
    `reward_weights` has a weight for each of both. A completion is correct when `correct_column` is above
    `correct_threshold`. `answer_format` names the column that is 1 where a text states its answer in the form that the
    task asks for, if there is such a form: evaluation then says how many are right and in that form, too. With
    `needs_sandbox`, `score_texts` must be given an open sandbox.
    """

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    token_column_names: ClassVar[tuple[str, ...]] = ()
    reward_weights: Mapping[str, float]
    correct_column: ClassVar[str]
    correct_threshold: ClassVar[float] = 0.5
    answer_format: ClassVar[str | None] = None
    max_tokens: int = 40
    needs_sandbox: ClassVar[bool] = False

    @abc.abstractmethod
    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split, always the same and in the same order; all of them by default."""

    @abc.abstractmethod
    def score_texts(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
    ) -> Columns:
        """Reward columns, float64 [M] each: text i answers problems[i]; truncated[i] if it had no end token."""

    def token_columns(self, problem: Problem, token_texts: Sequence[str]) -> dict[str, list[float]]:  # noqa: ARG002
        """Per-token reward columns of one completion, a value for every token text; none by default."""
        return {}

    def ended(self, text: str, truncated: bool) -> tuple[str, bool]:
        """A completion up to where the task says that it ends, and whether it was cut before that; as it is here."""
        return text, truncated

    def notes(self) -> Sequence[str]:
        """What a reader should know of the data, a line each: rows that were left out, answers that took too long."""
        return ()

    def correct(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Bool [M]: which completions count as right."""
        return np.asarray(columns[self.correct_column] > self.correct_threshold)

    def strict(self, columns: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Bool [M]: which completions are right in the form that the task asks for; None where it asks for none."""
        if self.answer_format is None:
            return None
        return self.correct(columns) & np.asarray(columns[self.answer_format] > 0.5)

    def digest(self) -> str:
        """A hash of what the task asks and how it scores: equal digests mean comparable numbers."""
        parts = [type(self).__name__, self.name, repr(self.columns), repr(sorted(self.reward_weights.items()))]
        parts += [f"{self.correct_column}>{self.correct_threshold}", str(self.max_tokens)]
        for split in SPLITS:
            parts += [f"{problem.key}|{problem.prompt}|{problem.answer}" for problem in self.problems(split)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def stable_hash(text: str) -> int:
    """A 64-bit hash that is the same in every process and version."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def hash_split(canonical: str) -> Split:
    """80 % train, 10 % validation, 10 % test by the hash of a canonical problem: no seed can move it across."""
    slot = stable_hash(canonical) % 10
    return "train" if slot < 8 else "validation" if slot == 8 else "test"


def check_split(split: str) -> None:
    """Raise UsageError for an unknown split."""
    if split not in SPLITS:
        raise UsageError(f"unknown split {split!r}.{nearest(split, SPLITS)}")
