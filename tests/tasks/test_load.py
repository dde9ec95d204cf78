"""Tasks by name."""

import pytest

from harness.errors import UsageError
from harness.tasks import load_task, task_names
from harness.tasks.math import MathTask


def test_bundled_tasks_are_found():
    assert {"math", "code"} <= set(task_names())
    task = load_task("math", {"max_tokens": 20})
    assert isinstance(task, MathTask)
    assert task.max_tokens == 20


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(UsageError, match=r"unknown task 'maths'\. Did you mean 'math'"):
        load_task("maths")


def test_unknown_options_are_named():
    with pytest.raises(UsageError, match="operands"):
        load_task("math", {"operands": 5})
