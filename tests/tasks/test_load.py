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


def test_the_name_of_a_bundled_data_set_is_short_for_its_mapping():
    task = load_task("gsm8k", {"max_tokens": 20})
    assert (task.name, task.max_tokens) == ("gsm8k", 20)
    assert task.settings == load_task("dataset", {"like": "gsm8k", "max_tokens": 20}).settings
    assert "gsm8k" in task_names()
    with pytest.raises(UsageError, match=r"unknown task 'gsm9k'\. Did you mean 'gsm8k'"):
        load_task("gsm9k")


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(UsageError, match=r"unknown task 'maths'\. Did you mean 'math'"):
        load_task("maths")


def test_unknown_options_are_named():
    with pytest.raises(UsageError, match=r"^task 'math' has no option 'max_token'\. Did you mean 'max_tokens'\?$"):
        load_task("math", {"max_token": 5})
    with pytest.raises(UsageError, match=r"^task 'reasoning-gym' needs the option 'name'; set it under options"):
        load_task("reasoning-gym", {"unmarked": "text"})


@pytest.mark.parametrize("name", ["math", "code", "word-problems", "python-functions", "gsm8k", "mbpp"])
def test_a_weight_of_no_column_is_refused(name):
    with pytest.raises(UsageError, match=r"reward_weights names no column of it: 'formatt'.*'format'") as raised:
        load_task(name, {"reward_weights": {"formatt": 1.0}})
    assert "\n" not in str(raised.value)
