"""Word problems for language models."""

import re

import pytest

from harness.errors import UsageError
from harness.tasks.base import SPLITS, Problem
from harness.tasks.word_problems import KINDS, WordProblemTask

PROBLEM = Problem("word-problems:x", "?", "word-problems", 12)


def scores(*texts, truncated=False):
    columns = WordProblemTask().score_texts([PROBLEM] * len(texts), texts, [truncated] * len(texts))
    return {name: values.tolist() for name, values in columns.items()}


@pytest.mark.parametrize(
    "text", ["3 * 4 = 12\n#### 12", "#### 12", "She has 12 eggs.", "It is 12.0", "$12", "#### $12"]
)
def test_every_spelling_of_the_right_answer_is_correct(text):
    assert scores(text)["correct"] == [1]


@pytest.mark.parametrize("text", ["", "twelve", "12 or 13", "#### 13 not 12", "12 #### 13", "-12", "120", "1.12"])
def test_other_answers_are_wrong(text):
    assert scores(text)["correct"] == [0]


def test_format_and_truncation():
    assert scores("3*4=12 #### 12", "12", "#### 12 eggs")["format"] == [1, 0, 0]
    cut = scores("#### 12", truncated=True)
    assert (cut["correct"], cut["format"]) == ([0], [0])


def test_splits_do_not_overlap():
    found = {split: {p.data["canonical"] for p in WordProblemTask().problems(split)} for split in SPLITS}
    assert len(found["test"]) == 1000
    assert not found["train"] & found["test"]
    assert not found["train"] & found["validation"]
    assert not found["validation"] & found["test"]


def test_answers_are_small_whole_numbers_and_prompts_hold_the_numbers():
    for p in WordProblemTask().problems("train"):
        assert isinstance(p.answer, int)
        assert 0 <= p.answer <= 300
        assert set(p.data["canonical"].split(":")[1].split(",")) <= set(re.findall(r"\d+", p.prompt))
    assert {p.data["kind"] for p in WordProblemTask().problems("test")} == set(KINDS)


def test_small_problems_of_chosen_kinds():
    problems = WordProblemTask(kinds=["boxes", "gain"], most=20).problems("test")
    assert {p.data["kind"] for p in problems} == {"boxes", "gain"}
    assert max(p.answer for p in problems) <= 20
    with pytest.raises(UsageError, match=r"no kind 'boxs'\. Did you mean 'boxes'"):
        WordProblemTask(kinds=["boxs"])
