import numpy as np
import pytest

from harness import probe

approx = pytest.approx


def test_the_sum_of_two_z_scores():
    found = probe.advantages("mo-grpo(eps=0)", [[1, 1], [1, 0], [0, 1], [0, 0]], [0] * 4)
    assert found == approx([3**0.5, 0, 0, -(3**0.5)])


def test_blind_to_scale_and_shift_of_every_column():
    rewards = np.array([[0.3, 2], [0.9, 1], [-0.4, 4], [0.1, 1]])
    moved = rewards * [7, 0.01] + [3, -5]
    plain, after = (probe.advantages("mo-grpo(eps=0)", values, [0] * 4) for values in (rewards, moved))
    assert after == approx(plain)


def test_uncorrelated_rewards_pull_equally():
    """mean(A z_k) = 1 + the correlations of column k with the others, with std over n."""
    rewards = np.array([[1, 1], [1, 0], [0, 1], [0, 0]]) * [1, 100]
    found = probe.advantages("mo-grpo(eps=0, population=True)", rewards, [0] * 4)
    scores = (rewards - rewards.mean(0)) / rewards.std(0)
    assert (found[:, None] * scores).mean(0) == approx([1, 1])


def test_a_constant_column_and_a_group_of_one_add_nothing():
    rewards, group = [[1, 2], [0, 2], [5, 5]], [0, 0, 1]
    assert probe.advantages("mo-grpo(eps=0)", rewards, group) == approx([2**-0.5, -(2**-0.5), 0])
