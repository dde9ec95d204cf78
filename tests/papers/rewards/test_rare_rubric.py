import pytest

from harness import probe

approx = pytest.approx
NAMES = ("correct", "format")


def rubric(rewards, lengths=None, group=None, names=NAMES, **fields):
    group = [0] * len(rewards) if group is None else group
    lengths = [1] * len(rewards) if lengths is None else lengths
    return probe.rewards("rare", rewards, group, lengths=lengths, reward_names=names, **fields)["rubric"]


def test_a_saturated_criterion_turns_into_how_short_the_completion_is():
    assert rubric([[1, 0], [1, 1], [1, 1]], [3, 2, 1]) == approx([0, 0.75, 1])


def test_a_harder_column_comes_first_unless_it_is_saturated_too():
    names = ("correct", "steps")
    fields = {"names": names, "reward_weights": [1.0, 0.0]}
    assert rubric([[1, 0.5], [1, 0.8]], [2, 1], **fields) == approx([0.5, 0.8])
    assert rubric([[1, 1], [1, 1]], [2, 1], **fields) == approx([0, 1])


def test_what_is_not_saturated_stays_as_it_is():
    rows = [[1, 0.3], [0, 0.9], [1, None]]
    assert rubric(rows, [3, 2, 1]) == approx([0.65, 0.45, 1])
    assert rubric([[1, 1], [1, None]], [2, 1], names=NAMES) == approx([0.5, 1])


def test_a_group_of_one_and_the_limit_on_replacements():
    assert rubric([[1, 1], [1, 1], [1, 1]], [3, 2, 1], [0, 0, 1]) == approx([0, 1, 1])
    assert rubric([[1, 1], [1, 1]], [2, 1], params={"replace": 1}) == approx([0.5, 1])
    assert rubric([[1, 1], [1, 1]], [2, 1], params={"replace": 0}) == approx([1, 1])
