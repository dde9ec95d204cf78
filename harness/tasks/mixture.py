"""The tasks of one trial as one task: a prompt pool, the union of the reward columns, and who is correct."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from harness.errors import HarnessError, UsageError, nearest
from harness.tasks.base import Problem, Task
from harness.tasks.pool import PromptPool
from harness.tasks.verdicts import scored

__all__ = ["Completions", "Mixture", "merged_weights"]


class Completions(Protocol):
    """What `Mixture.score` reads of `harness.policies.rollouts.Rollouts`: M completions, T padded tokens."""

    @property
    def requests(self) -> Sequence[Any]: ...
    @property
    def index(self) -> Tensor: ...
    @property
    def texts(self) -> Sequence[str]: ...
    @property
    def truncated(self) -> Tensor: ...
    @property
    def mask(self) -> Tensor: ...
    @property
    def rollout(self) -> Tensor: ...
    def token_texts(self, i: int, /) -> Sequence[str]: ...


class Mixture:
    """Several tasks with relative shares. Columns of one name are one column; NaN where a task has no such column.

    A task scores only its own completions. `correct` follows each task's own column and threshold.
    """

    def __init__(
        self,
        tasks: Sequence[tuple[Task, float]],
        *,
        seed: int = 0,
        reward_weights: Mapping[str, float] | None = None,
        sandbox: Any = None,
    ) -> None:
        """Tasks with their shares; `reward_weights` override the tasks' own.

        Raises UsageError for two tasks of one name, for an unknown column, and for two tasks that weigh one column
        differently.
        """
        self.tasks = {task.name: task for task, _ in tasks}
        if len(self.tasks) < len(tasks) or not tasks:
            raise UsageError(f"a mixture needs tasks of distinct names, not {[task.name for task, _ in tasks]}")
        self.shares = {task.name: float(share) for task, share in tasks}
        self.sandbox = sandbox
        self.reward_weights = merged_weights([task for task, _ in tasks], reward_weights or {})
        self.pool = PromptPool({name: task.problems("train") for name, task in self.tasks.items()}, self.shares, seed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The reward columns of all tasks, token columns included, in the order of `reward_weights`."""
        return tuple(self.reward_weights)

    @property
    def needs_sandbox(self) -> bool:
        """Whether any task runs programs."""
        return any(task.needs_sandbox for task in self.tasks.values())

    @property
    def max_tokens(self) -> int:
        """The longest completion that any task allows."""
        return max(task.max_tokens for task in self.tasks.values())

    def problem(self, key: str) -> Problem:
        """The training problem of a key."""
        return self.pool.problem(key)

    def score(self, rollouts: Completions) -> dict[str, Tensor]:
        """Reward columns float32 [M], and [M, T] for token columns; NaN for rows of tasks without the column."""
        problems = [self.pool.problem(rollouts.requests[i].key) for i in rollouts.index.tolist()]
        truncated = rollouts.truncated.tolist()
        shape = tuple(rollouts.mask.shape)
        total = {
            name: np.full(shape if self._is_token_column(name) else shape[:1], np.nan, dtype=np.float32)
            for name in self.columns
        }
        for name, task in self.tasks.items():
            rows = [i for i, problem in enumerate(problems) if problem.task == name]
            if not rows:
                continue
            mine = [problems[i] for i in rows]
            texts, cut = [rollouts.texts[i] for i in rows], [truncated[i] for i in rows]
            if task.needs_sandbox and self.sandbox is None:
                raise HarnessError(f"task {name!r} runs programs and has no sandbox; pass Mixture(..., sandbox=...)")
            for column, values in scored(task, mine, texts, cut, sandbox=self.sandbox).items():
                total[column][rows] = values
            for column in task.token_column_names:
                total[column][rows] = 0
            if task.token_column_names:
                self._add_token_columns(task, mine, rows, rollouts, total)
        device = rollouts.mask.device
        return {name: torch.from_numpy(values).to(device) for name, values in total.items()}

    def correct(self, columns: Mapping[str, Tensor]) -> Tensor:
        """Bool [N]: any task's own verdict; a column that does not apply (NaN) is never above its threshold."""
        verdicts = [columns[task.correct_column] > task.correct_threshold for task in self.tasks.values()]
        return torch.stack(verdicts).any(0)

    def digest(self) -> str:
        """A hash over the tasks' digests, the shares and the weights."""
        parts = [f"{name}:{task.digest()}:{self.shares[name]}" for name, task in self.tasks.items()]
        return hashlib.sha256(repr((parts, self.reward_weights)).encode()).hexdigest()[:16]

    def _is_token_column(self, name: str) -> bool:
        return any(name in task.token_column_names for task in self.tasks.values())

    @staticmethod
    def _add_token_columns(
        task: Task,
        problems: Sequence[Problem],
        rows: Sequence[int],
        rollouts: Completions,
        total: dict[str, np.ndarray],
    ) -> None:
        for problem, row in zip(problems, rows, strict=True):
            for column, values in task.token_columns(problem, rollouts.token_texts(row)).items():
                kept = values[: total[column].shape[1]]
                total[column][row, : len(kept)] = kept


def merged_weights(tasks: Sequence[Task], overrides: Mapping[str, float]) -> dict[str, float]:
    """Column -> weight in the order of the tasks' columns; UsageError where tasks disagree or a name is unknown."""
    merged: dict[str, float] = {}
    for task in tasks:
        for name in (*task.columns, *task.token_column_names):
            weight = float(overrides.get(name, task.reward_weights[name]))
            if merged.setdefault(name, weight) != weight:
                raise UsageError(
                    f"task {task.name!r} weighs column {name!r} {weight:g}, another task {merged[name]:g};"
                    f" set reward_weights.{name} in the suite"
                )
    for name in overrides:
        if name not in merged:
            raise UsageError(f"reward_weights names an unknown column {name!r}.{nearest(name, merged)}")
    return merged
