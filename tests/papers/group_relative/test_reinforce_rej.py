import pytest

from harness import probe
from tests.papers.worked import advantages, approx


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [([1, -1, -1, -1], [1, -1, -1, -1]), ([1, 1, 1, 1], [0] * 4), ([-1, -1], [0, 0]), ([1], [0]), ([1, 0], [1, -1])],
)
def test_mixed_groups_keep_their_outcomes(rewards, expected):
    assert advantages("reinforce-rej", rewards).tolist() == expected


def test_rewards_as_they_are():
    assert advantages("reinforce-rej(signed=False)", [1, 0, 0]).tolist() == [1, 0, 0]
    assert advantages("reinforce-rej(signed=False)", [0.5, 0.5]).tolist() == [0, 0]


def test_rejected_groups_stay_in_the_divisor():
    weights = probe.weights("reinforce-rej", [[1, 1], [1, 1]])
    assert weights.sum() == approx(1)
