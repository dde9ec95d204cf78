"""What the warm-up imitates."""

import pytest

from harness.tasks.base import hash_split
from harness.tasks.code import CodeTask
from harness.tasks.functions import functions
from harness.tasks.math import MathTask
from harness.warmstart.behaviours import MIXTURE, SKILLS, Examples, code_behaviour, math_behaviour


@pytest.fixture(scope="module")
def examples():
    return Examples(0).take(600, MIXTURE)


def test_the_stream_is_a_function_of_its_seed(examples):
    assert Examples(0).take(100, MIXTURE) == examples[:100]
    assert Examples(1).take(100, MIXTURE) != examples[:100]


def test_no_example_is_a_validation_or_test_problem(examples):
    tables = {f.hidden: f.split for f in functions()}
    assert "train" in tables.values()
    held = {
        p.prompt for task in (MathTask(), CodeTask()) for split in ("validation", "test") for p in task.problems(split)
    }
    assert not held & {example.prompt for example in examples}


def test_behaviours_are_recognised(examples):
    for example in examples:
        seen = (math_behaviour if example.task == "math" else code_behaviour)(example.completion)
        assert seen == example.behaviour, example


def test_shares(examples):
    for task, shares in MIXTURE.items():
        mine = [example.behaviour for example in examples if example.task == task]
        for behaviour, share in shares.items():
            # functions without an offset have no anchored spelling
            assert mine.count(behaviour) / len(mine) == pytest.approx(share, abs=0.12)


def test_skills_have_no_bad_habits():
    assert {example.behaviour for example in Examples(0).take(200, SKILLS)} == {"direct", "scratchpad", "anchored"}


def test_completions_are_short(examples):
    assert max(len(example.completion) for example in examples) < 40
    assert max(len(example.prompt) for example in examples) <= 40


def test_splits_of_math_are_the_tasks_own(examples):
    assert {hash_split(p.data["canonical"]) for p in MathTask().problems("test", 20)} == {"test"}
