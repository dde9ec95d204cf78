import pytest

from tests.papers.worked import ONE_OF_FOUR, advantages, approx


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        (ONE_OF_FOUR, [1, 0, 0, 0]),
        ([1, 1, 0, 0], [0, 0, 0, 0]),
        ([0.2, 0.9, 0.5], [0, 0.4, 0]),
        ([0.5, 0.5], [0, 0]),
        ([0.7], [0]),
    ],
)
def test_the_best_gets_its_lead(rewards, expected):
    assert advantages("grpo-passk(scale=False)", rewards).tolist() == approx(expected)


def test_it_is_what_the_maximum_loses_without_a_completion():
    rewards = [0.2, 0.9, -0.5, 0.9, 0.1, 0.3]
    group = [0, 0, 0, 1, 1, 1]
    without = [max(r for j, r in enumerate(rewards) if j != i and group[j] == group[i]) for i in range(6)]
    best = [max(r for j, r in enumerate(rewards) if group[j] == group[i]) for i in range(6)]
    expected = [b - w for b, w in zip(best, without, strict=True)]
    assert advantages("grpo-passk(scale=False)", rewards, group).tolist() == approx(expected)


def test_scaled_by_the_spread():
    assert advantages("grpo-passk", ONE_OF_FOUR).tolist() == approx([2, 0, 0, 0], abs=1e-5)
