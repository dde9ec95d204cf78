"""The arithmetic task: its split, its scorer, its scratchpad column."""

import numpy as np
import pytest

from harness.errors import UsageError
from harness.tasks.base import SPLITS, Problem, hash_split
from harness.tasks.math import MathTask, canonical_sum, prompt_of, scratchpad

TERMS = (23, 48, -7)
PROBLEM = Problem("math:23+48-7", prompt_of(TERMS), "math", sum(TERMS), {"terms": TERMS})
FIRST = ["31+30-43=", "45-16=", "48-45-50+42="]  # a change of the test set must be seen


def scores(*texts: str, truncated: bool = False) -> dict[str, list[float]]:
    columns = MathTask().score_texts([PROBLEM] * len(texts), texts, [truncated] * len(texts))
    return {name: values.tolist() for name, values in columns.items()}


def test_prompt_and_scratchpad():
    assert PROBLEM.prompt == "23+48-7="
    assert scratchpad(TERMS) == "23+48=71;71-7=64;"


@pytest.mark.parametrize("text", ["#64", "23+48=71;71-7=64;#64", "# 64", "64", "=64", "23+48=71;71-7=64", "so #064"])
def test_every_spelling_of_the_right_answer_is_correct(text):
    assert scores(text)["correct"] == [1]


@pytest.mark.parametrize("text", ["", "#", "#6", "#-64", "64#63", "#64#65", "23+48=71;71-7=64;#65", "64 or 65", "six"])
def test_other_answers_are_wrong(text):
    assert scores(text)["correct"] == [0]


def test_format_is_a_scratchpad_and_a_marked_number_and_nothing_else():
    good = ["#64", "#-3", "23+48=71;71-7=64;#64", "1-2=-1;#0"]
    bad = ["64", "# 64", "#064", "#64 ", "#64.", "23+48=71;71-7=64", "23+48=71 71-7=64;#64", "#-0", "", "#٣"]
    assert scores(*good)["format"] == [1] * len(good)
    assert scores(*bad)["format"] == [0] * len(bad)


def test_a_truncated_text_is_neither_correct_nor_well_formed():
    found = scores("#64", truncated=True)
    assert found["correct"] == [0]
    assert found["format"] == [0]


def test_brevity_falls_with_length_and_silence_earns_nothing():
    brevity = scores("64", "#64", "23+48=71;71-7=64;#64", "#" + "0" * 50, "", "no idea")["brevity"]
    assert brevity == [0.95, 0.925, 0.5, 0, 0, 0]


def test_huge_numbers_do_no_harm():
    assert scores("#" + "9" * 5000, "9" * 5000)["correct"] == [0, 0]
    tokens = list("23+48=" + "9" * 5000 + ";")
    assert sum(MathTask().token_columns(PROBLEM, tokens)["steps"]) == 0


def test_steps_mark_the_end_of_each_right_step():
    task = MathTask()
    values = task.token_columns(PROBLEM, list("23+48=71;71-7=64;#64"))["steps"]
    assert [i for i, value in enumerate(values) if value] == [7, 15]
    assert sum(values) == 1
    assert sum(task.token_columns(PROBLEM, list("#64"))["steps"]) == 0


def test_a_step_after_a_wrong_one_is_judged_from_what_that_one_stated():
    values = MathTask().token_columns(PROBLEM, list("23+48=72;72-7=65;#65"))["steps"]
    assert [i for i, value in enumerate(values) if value] == [15]


def test_steps_are_capped_at_the_number_of_operations():
    assert sum(MathTask().token_columns(PROBLEM, list("23+48=71;71-7=64;64+0=64;64-7=57;"))["steps"]) == 1


def test_steps_with_tokens_of_several_characters():
    values = MathTask().token_columns(PROBLEM, ["23+48", "=7", "1;71-7=", "64;#6", "4"])["steps"]
    assert values == [0, 0, 0.5, 0.5, 0]


def test_splits_do_not_overlap_and_are_fixed():
    task = MathTask()
    forms = {split: {p.data["canonical"] for p in task.problems(split)} for split in SPLITS}
    assert len(forms["test"]) == len(task.problems("test")) == 1000
    assert not forms["train"] & forms["test"]
    assert not forms["train"] & forms["validation"]
    assert not forms["validation"] & forms["test"]
    assert all(hash_split(form) == split for split, found in forms.items() for form in found)
    assert [p.prompt for p in task.problems("test", 3)] == FIRST
    assert task.problems("test", 10) == task.problems("test")[:10]


def test_the_order_of_terms_does_not_make_another_problem():
    assert canonical_sum((23, 48, -7)) == canonical_sum((48, -7, 23)) != canonical_sum((23, 7, -48))


def test_keys_and_answers():
    found = MathTask().problems("train")
    assert len({p.key for p in found}) == len(found)
    assert all(sum(p.data["terms"]) == p.answer and prompt_of(p.data["terms"]) == p.prompt for p in found)
    counts = np.bincount([len(p.data["terms"]) for p in found])
    assert set(np.nonzero(counts)[0]) == {2, 3, 4}


def test_an_unknown_split_names_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'test'"):
        MathTask().problems("tests")
