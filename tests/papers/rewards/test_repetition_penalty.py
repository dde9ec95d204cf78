import pytest

from harness import probe

IDS = [[5, 5, 5, 5], [1, 2, 3, 4], [7, 7, 7, 7], [1, 0, 0, 0]]


def total(**params):
    fields = {"completion_ids": IDS, "lengths": [4, 4, 4, 1]}
    return probe.total_reward("repetition-penalty", [1.0, 1.0, 0.0, 0.0], None, params=params, **fields)[0]


def test_repeated_bigrams_cost():
    assert total(n=2) == pytest.approx([1 - 2 / 3, 1, -2 / 3, 0])
    assert total(n=2, penalty=-0.3) == pytest.approx([0.8, 1, -0.2, 0])


def test_only_the_wrong_may_pay_or_nobody():
    assert total(n=2, wrong_only=True) == pytest.approx([1, 1, -2 / 3, 0])
    assert total(penalty=0.0).tolist() == [1, 1, 0, 0]
