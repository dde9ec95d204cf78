"""Scoring of generated tasks whose completion ends in a short answer: right, well formed, brief."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from harness.tasks.base import Columns, Problem, Task

__all__ = ["ShortAnswers"]


class ShortAnswers(Task):
    """A task with the columns `correct`, `format` and `brevity`; a subclass reads the answer out of a text.

    `brevity` is 1 at length 0 and 0 at `brevity_scale` characters; 0 where no answer is stated, so that silence earns
    nothing. A truncated text is neither correct nor well formed.
    """

    columns = ("correct", "format", "brevity")
    correct_column = "correct"
    answer_format = "format"
    brevity_scale: ClassVar[int]

    @abc.abstractmethod
    def stated(self, text: str) -> Any:
        """The answer that a text states, equal to the problem's if it is right; None without one."""

    @abc.abstractmethod
    def well_formed(self, text: str) -> bool:
        """Whether a text has the form that the task asks for."""

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
        answers = [self.stated(text) for text in texts]
        right = [found == problem.answer for found, problem in zip(answers, problems, strict=True)]
        formed = np.array([self.well_formed(text) for text in texts], dtype=bool)
        said = np.array([found is not None for found in answers], dtype=bool)
        lengths = np.array([len(text) for text in texts], dtype=np.float64)
        return {
            "correct": (np.array(right, dtype=bool) & done).astype(np.float64),
            "format": (formed & done).astype(np.float64),
            "brevity": np.clip(1 - lengths / self.brevity_scale, 0, 1) * said,
        }
