"""What a task must hold for scores on it to mean something: splits that do not overlap, scores that do not wander."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import CheckFailed
from harness.tasks.base import SPLITS, Problem, Task
from harness.tasks.load import load_task

__all__ = ["TASK_CHECKS", "task_tests"]

FEW = 32  # problems whose completions are scored
TEXTS = ("", " ", "0", "-1", "#64", "x" * 200, "1+1=2;#2", "\n", "ü€", "def f(x):\n    return x")


def task_tests(task: str | Task | type[Task], options: Mapping[str, Any] | None = None) -> Callable[[str], None]:
    """One pytest case a check, for an author's tests.

    `test_conformance = task_tests("my-task")` is all that a test file needs.
    task: the name it is installed under, a YAML file, a class or an instance; options: its arguments.
    """
    import pytest

    @pytest.mark.parametrize("check", list(TASK_CHECKS))
    def test(check: str) -> None:
        TASK_CHECKS[check](_made(task, options))

    return test


def _made(task: str | Task | type[Task], options: Mapping[str, Any] | None) -> Task:
    if isinstance(task, Task):
        return task
    return load_task(task, options) if isinstance(task, str) else task(**(options or {}))


def _require(held: Any, said: str) -> None:
    if not held:
        raise CheckFailed(said)


def splits(task: Task) -> None:
    """Every split has problems, and no two splits share a prompt or a key."""
    found = {split: task.problems(split) for split in SPLITS}
    for split, problems in found.items():
        _require(problems, f"task {task.name!r}: the {split} split is empty")
        keys = [problem.key for problem in problems]
        _require(len(set(keys)) == len(keys), f"task {task.name!r}: {split} holds a key twice")
        strange = [key for key in keys if not key.startswith(task.name)]
        _require(not strange, f"task {task.name!r}: keys begin with the task's name, not {strange[:1]}")
        _require(all(problem.task == task.name for problem in problems), f"{split}: problem.task is the task's name")
    for i, one in enumerate(SPLITS):
        for other in SPLITS[i + 1 :]:
            shared = {problem.prompt for problem in found[one]} & {problem.prompt for problem in found[other]}
            _require(
                not shared,
                f"task {task.name!r}: {one} and {other} share {len(shared)} prompts: {min(shared, default='')!r}",
            )


def repeatable(task: Task) -> None:
    """The same problems in the same order every time; a limit takes the first of them; the digest stays."""
    for split in SPLITS:
        all_of_it = list(task.problems(split))
        _require(list(task.problems(split)) == all_of_it, f"{split}: problems differ between two calls")
        few = list(task.problems(split, 3))
        _require(few == all_of_it[:3], f"{split}: problems(limit=3) must be the first three")
    _require(task.digest() == task.digest(), "digest() differs between two calls")


def columns(task: Task) -> None:
    """`score_texts` gives the declared columns, one value a text, whatever the text is; NaN where one does not apply.

    Not in the column that says what is correct: NaN there means that the verifier failed.
    """
    problems, texts = _completions(task)
    scored = _scored(task, problems, texts, [False] * len(texts))
    _require(set(scored) == set(task.columns), f"score_texts gives {sorted(scored)}, the task declares {task.columns}")
    for name, values in scored.items():
        _require(values.shape == (len(texts),), f"column {name!r} has shape {values.shape}, not ({len(texts)},)")
        _require(not np.isinf(values).any(), f"column {name!r} holds an infinite value")
        failed = name == task.correct_column and np.isnan(values).any()
        _require(not failed, f"column {name!r} says what is correct and is NaN, as where a verifier failed")
    _require(task.correct_column in task.columns, f"correct_column {task.correct_column!r} is no column")
    named = {*task.columns, *task.token_column_names}
    _require(
        set(task.reward_weights) == named, f"reward_weights names {sorted(task.reward_weights)}, not {sorted(named)}"
    )
    _require(all(math.isfinite(weight) for weight in task.reward_weights.values()), "a reward weight is not finite")
    _require(task.correct(scored).shape == (len(texts),), "correct(columns) gives one verdict a text")


def order(task: Task) -> None:
    """A text's score depends on nothing but the text and its problem."""
    problems, texts = _completions(task)
    scored = _scored(task, problems, texts, [False] * len(texts))
    turned = _scored(task, problems[::-1], texts[::-1], [False] * len(texts))
    alone = _scored(task, problems[:1], texts[:1], [False])
    for name, values in scored.items():
        _require(
            np.array_equal(values, turned[name][::-1], equal_nan=True),
            f"column {name!r} depends on the order of the texts",
        )
        same = np.array_equal(values[:1], alone[name], equal_nan=True)
        _require(same, f"column {name!r} depends on what is scored beside it")


def truncation(task: Task) -> None:
    """A text without an end is never correct, and scoring nothing gives nothing."""
    problems, texts = _completions(task)
    texts = [str(problem.answer) for problem in problems]
    cut = task.correct(_scored(task, problems, texts, [True] * len(texts)))
    _require(not cut.any(), f"{int(cut.sum())} truncated texts count as correct")
    empty = _scored(task, [], [], [])
    _require(all(values.shape == (0,) for values in empty.values()), "scoring no texts must give empty columns")


def token_columns(task: Task) -> None:
    """Token columns have one finite value a token."""
    problem = task.problems("train", 1)[0]
    for tokens in ([], ["1"], list(problem.prompt)):
        found = task.token_columns(problem, tokens)
        _require(set(found) == set(task.token_column_names), f"token_columns gives {sorted(found)}")
        for name, values in found.items():
            _require(
                len(values) == len(tokens), f"token column {name!r} has {len(values)} values for {len(tokens)} tokens"
            )
            _require(all(map(math.isfinite, values)), f"token column {name!r} is not finite")


def _completions(task: Task) -> tuple[Sequence[Problem], list[str]]:
    problems = list(task.problems("train", FEW))
    texts = [TEXTS[i % len(TEXTS)] if i % 3 else str(problem.answer) for i, problem in enumerate(problems)]
    return problems, texts


def _scored(
    task: Task, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool]
) -> dict[str, np.ndarray]:
    if not task.needs_sandbox:
        return dict(task.score_texts(problems, texts, truncated))
    from harness.tasks.sandbox import Sandbox

    with Sandbox() as sandbox:
        return dict(task.score_texts(problems, texts, truncated, sandbox=sandbox))


TASK_CHECKS: dict[str, Callable[[Task], None]] = {
    check.__name__.replace("_", "-"): check for check in (splits, repeatable, columns, order, truncation, token_columns)
}
