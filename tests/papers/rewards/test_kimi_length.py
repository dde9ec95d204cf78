import pytest
from harness_papers.rewards.kimi_length import KimiLength

from harness import probe


def bonus(correct, lengths, group=None, **params):
    group = [0] * len(lengths) if group is None else group
    return probe.rewards("kimi-length", correct, group, params=params, lengths=lengths)["relative_brevity"].tolist()


def test_a_wrong_answer_can_only_lose():
    assert bonus([1, 1, 0], [100, 200, 300]) == pytest.approx([0.5, 0, -0.5])
    assert bonus([0, 1, 1], [100, 200, 300]) == pytest.approx([0, 0, -0.5])


def test_lengths_are_compared_within_the_group():
    assert bonus([1, 1, 1, 1], [1, 2, 100, 200], [0, 0, 1, 1]) == [0.5, -0.5, 0.5, -0.5]
    assert bonus([1, 1], [5, 5]) == [0, 0]


def test_the_warm_up_has_no_bonus():
    fields = {"rewards": [1, 1], "group": [0, 0], "lengths": [1, 2]}
    assert probe.total_reward("kimi-length(warmup=1)", **fields)[0].tolist() == [1, 1]
    assert probe.total_reward("kimi-length", **fields)[0].tolist() == [1.5, 0.5]
    assert KimiLength().weight == 1
