import pytest

from harness import probe

approx = pytest.approx
NAMES = ("correct", "format", "brevity")


def rubric(rewards, **params):
    return probe.rewards("rar", rewards, [0] * len(rewards), reward_names=NAMES, params=params)["rubric"]


def test_the_share_of_what_is_satisfied():
    assert rubric([[1, 0, 1], [1, 1, 1], [0, 0, 0]]) == approx([1.3 / 2, 1, 0])
    assert rubric([[1, 0.4, 0.5]]) == approx([1.3 / 2])
    assert rubric([[1, 0.4, 0.5]], met_at=0.0) == approx([(1 + 0.28 + 0.15) / 2])


def test_criteria_that_do_not_apply_leave_both_sums():
    assert rubric([[1, None, 0], [None] * 3]) == approx([1 / 1.3, 0])


def test_categories_go_by_name():
    assert rubric([[0, 1, 0]], pitfall=("format",), important=()) == approx([0.9 / 2.2])
    assert rubric([[1, 0, 0]], weights=(2.0, 1.0, 1.0, 0.0)) == approx([0.5])
