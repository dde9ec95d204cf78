import math

import pytest
from harness_papers.rewards.fgrpr import FGRPR

from harness import probe

approx = pytest.approx


@pytest.mark.parametrize(
    ("text", "expected"), [("#100", 1.5), ("#120", 1.3), ("#149", 1.01), ("#150", 0), ("99+51=150;#110", 1.4), ("", 0)]
)
def test_closer_is_better(text, expected):
    assert FGRPR().close(100, text) == approx(expected)


def test_signs_zero_cuts_and_answers_that_are_no_number():
    close = FGRPR().close
    assert close(-20, "#-25") == approx(1.25)
    assert [close(0, text) for text in ("#0", "#1")] == [1.5, 0]
    assert close(7, "#7", cut=True) == 0
    assert close("1,000", "#### 900") == approx(1.4)
    assert math.isnan(close((1, 2), "#1"))


def test_it_takes_the_place_of_the_columns_where_the_answer_is_a_number():
    rewards = [[1, 1, 1.5], [0, 1, None]]
    found = probe.total_reward("fgrpr", rewards, [0, 0], reward_names=["correct", "format", "close"])[0]
    assert found.tolist() == [2.5, 1]
