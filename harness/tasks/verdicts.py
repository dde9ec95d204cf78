"""Scoring by a task, checked: what it says it gives, it gives, and a verifier that fails is not a policy that does.

A verdict may be missing (NaN, or None): the verifier failed on that text. It counts as wrong and is counted; where a
verifier fails on many texts of a batch, or is late on most, training on its verdicts would teach noise, so it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.tasks.base import Columns, Problem, Task

__all__ = ["missing", "scored"]

FAILED, LATE = 0.1, 0.5  # shares of a batch's verdicts that may be missing, and that may have run out of time
LEAST = 20  # verdicts in a batch for a share to say anything


def scored(
    task: Task, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
) -> Columns:
    """The columns that the task declares, float64 [M] each; NaN where one does not apply, and for missing verdicts.

    Raises HarnessError for other columns or lengths, for infinite values, and where the verifier does not work.
    """
    late = getattr(task, "timeouts", 0)
    given = task.score_texts(problems, texts, truncated, sandbox=sandbox)
    if set(given) != set(task.columns):
        raise HarnessError(f"task {task.name!r}: score_texts gave columns {sorted(given)}, not {sorted(task.columns)}")
    columns = {name: _column(task, name, given[name], len(texts)) for name in task.columns}
    if len(texts) >= LEAST:
        _check(task, missing(task, columns), getattr(task, "timeouts", 0) - late, len(texts))
    return columns


def missing(task: Task, columns: Columns) -> int:
    """How many verdicts the verifier failed to give."""
    return int(np.isnan(columns[task.correct_column]).sum())


def _column(task: Task, name: str, values: Any, count: int) -> np.ndarray:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise HarnessError(f"task {task.name!r}: column {name!r} holds what is no number ({error})") from error
    if column.shape != (count,):
        raise HarnessError(f"task {task.name!r}: column {name!r} has shape {column.shape} for {count} texts")
    if np.isinf(column).any():
        raise HarnessError(f"task {task.name!r}: column {name!r} holds an infinite value")
    return column


def _check(task: Task, failed: int, late: int, count: int) -> None:
    if failed > FAILED * count:
        raise HarnessError(
            f"task {task.name!r}: its verifier gave no verdict on {failed} of {count} texts; mend it, as such verdicts "
            "count as wrong and would teach noise"
        )
    if late > LATE * count:
        raise HarnessError(
            f"task {task.name!r}: its verifier ran out of time on {late} of {count} texts; give it more (of data sets "
            "verify_seconds), or fewer trials at once (--workers)"
        )
