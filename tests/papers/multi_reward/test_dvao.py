import numpy as np
import pytest

from harness import probe

approx = pytest.approx


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 1, 0, 0], [1, 0, 0, 0], [1.3397, 0.2679, -0.8038, -0.8038]),
        ([1, 1, 0, 0], [0, 0, 1, 0], [0.2679, 0.2679, 0.2679, -0.8038]),
        ([1, 1, 0, 0], [3, 3, 3, 3], [1, 1, -1, -1]),
        ([2, 2, 2, 2], [3, 3, 3, 3], [0, 0, 0, 0]),
    ],
)
def test_worked_by_hand(first, second, expected):
    assert probe.advantages("dvao", np.array([first, second]).T, [0] * 4) == approx(expected, abs=1e-4)


def test_never_further_out_than_one_reward_alone():
    rewards = np.random.default_rng(1).random((8, 3))
    found = probe.advantages("dvao", rewards, [0] * 8)
    scores = (rewards - rewards.mean(0)) / rewards.std(0)
    assert (abs(found) <= abs(scores).max(1) + 1e-9).all()
    summed = (rewards.sum(1) - rewards.sum(1).mean()) / rewards.sum(1).std()
    assert (abs(found) < abs(summed)).all()


def test_a_group_of_one_and_a_missing_reward():
    assert probe.advantages("dvao", [[1, 0], [1, None], [0, 1]], [0, 1, 1])[0] == 0
    assert probe.advantages("dvao", [[1, None], [0, None]], [0, 0]) == approx([1, -1], abs=1e-5)
