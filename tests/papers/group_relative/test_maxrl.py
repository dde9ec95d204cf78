from math import comb

import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


@pytest.mark.parametrize(("rewards", "expected"), [(ONE_OF_FOUR, [3, -1, -1, -1]), ([1, 1, 0, 0], [1, 1, -1, -1])])
def test_in_units_of_the_mean(rewards, expected):
    assert advantages("maxrl", rewards).tolist() == approx(expected, abs=1e-4)
    assert advantages("maxrl", rewards) == approx(advantages("dr-grpo", rewards) / np.mean(rewards), abs=1e-4)


def test_all_orders_are_the_mean_form():
    """-sum_k C(f-1, k-1) / C(G-1, k-1) up to the end makes failures as heavy as the successes that are left out."""
    rewards = [1.0, 1.0, 0.0, 0.0, 0.0]
    weights = -sum(comb(2, k - 1) / comb(4, k - 1) for k in (2, 3))
    assert advantages("maxrl(form='maclaurin', order=9)", rewards).tolist() == approx([1, 1, *[weights] * 3])
    assert advantages("maxrl(form='maclaurin', order=1)", rewards).tolist() == [1, 1, 0, 0, 0]
    got = advantages("maxrl(form='conditional')", rewards)
    assert got.tolist() == approx(advantages("maxrl(eps=0)", rewards).tolist())


@pytest.mark.parametrize("rewards", [[0.0] * 4, [1.0] * 4, [0.7], [-1.0, -0.5]])
def test_edges(rewards):
    assert not advantages("maxrl", rewards).any()
    assert not advantages("maxrl(eps=0)", rewards).any()


def test_a_group_of_one_of_the_authors_is_a_million():
    assert advantages("maxrl(single='raw')", [1.0]).tolist() == approx([1e6])
    with pytest.raises(HarnessError, match="maclaurin"):
        advantages("maxrl(form='taylor')", [1.0])
