import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_half_power_is_one_sided_grpo():
    assert advantages("p-norm", ONE_OF_FOUR).tolist() == approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)
    assert advantages("p-norm", [1, 1, 1, 0])[3] == approx(-(0.75**0.5), abs=1e-5)


def test_between_dr_grpo_and_maxrl():
    assert advantages("p-norm(power=0, eps=0)", ONE_OF_FOUR) == approx(advantages("dr-grpo", ONE_OF_FOUR))
    assert advantages("p-norm(power=1)", ONE_OF_FOUR) == approx(advantages("maxrl", ONE_OF_FOUR))


def test_the_floor_bounds_hard_prompts():
    rewards = [1.0] + [0.0] * 15
    clipped = advantages("p-norm(power=1, floor=0.125, eps=0)", rewards)
    assert clipped[0] == approx(15 / 16 / 0.125)
    assert advantages("p-norm(power=1, floor=0.125, eps=0, per_completion=True)", rewards) == approx(clipped / 16)


def test_edges():
    for rewards in ([0.0, 0.0], [1.0, 1.0], [0.5], [-1.0, -2.0]):
        got = advantages("p-norm(eps=0)", rewards)
        assert not got.any()
    assert advantages("p-norm(single='raw', floor=0.5, eps=0)", [1.0]).tolist() == [2]
    with pytest.raises(HarnessError, match="negative"):
        advantages("p-norm(power=-1)", [1.0])
