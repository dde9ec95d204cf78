import pytest

from harness import probe
from tests.papers.chain import run, sample

approx = pytest.approx


def awpo(correct, reason, **params):
    rewards = list(zip(correct, reason, strict=True))
    return probe.advantages("awpo", rewards, [0] * 4, params=params, reward_names=["correct", "steps"])


def test_reasoning_is_mixed_in_by_its_spread():
    assert awpo([1, 1, 0, 0], [0.9, 0.1, 0.5, 0.5]) == approx([1.388, 0.514, -0.951, -0.951], abs=1e-3)


def test_groups_that_agree_get_nothing_whatever_their_reasoning():
    assert awpo([1, 1, 1, 1], [0, 1, 0, 1]) == approx([0] * 4)
    assert awpo([0, 0, 0, 0], [0, 1, 0, 1]) == approx([0] * 4)


def test_without_the_column_a_row_keeps_its_outcome():
    assert awpo([1, 1, 0, 0], [None] * 4) == approx([1, 1, -1, -1], abs=1e-5)


def test_mixing_narrows_the_clip():
    batch = sample(group=(0, 0, 0, 1, 1, 1)).replace(reward_names=("correct", "steps"))
    narrow, wide = (run(f"awpo(eta={eta}, clip=0.05)", batch).gradient for eta in (1e6, 0))
    assert (narrow == 0).sum() > (wide == 0).sum()
