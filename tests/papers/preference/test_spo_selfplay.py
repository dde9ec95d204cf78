import numpy as np
import pytest

from harness import probe
from tests.papers.worked import advantages


def rate(rewards, group=None):
    return probe.rewards("spo-selfplay", rewards, [0] * len(rewards) if group is None else group)["win_rate"]


def test_worked_example():
    assert rate([3, 1, 1, 0]) == pytest.approx([1, 0.5, 0.5, 0])


def test_half_of_a_group_is_beaten_on_average():
    noise = np.random.default_rng(0).normal(size=9)
    assert rate(noise, [0, 1, 1, 1, 0, 0, 0, 2, 2]).sum() == pytest.approx(4.5)


def test_edges():
    assert rate([5]) == pytest.approx([0.5])
    assert rate([0.3] * 3) == pytest.approx([0.5] * 3)
    assert rate([2, None, 1])[[0, 2]] == pytest.approx([1, 0])
    assert advantages("spo-selfplay", [0.3, 0.3], shaped=True) == pytest.approx([0, 0])


def test_only_the_order_of_rewards_matters():
    first, second = (advantages("spo-selfplay", rewards, shaped=True) for rewards in ([0.1, 0.5, 0.2], [1, 900, 2]))
    assert first == pytest.approx(second)
