import pytest

from harness import probe

approx = pytest.approx
NAMES = ["correct", "format", "brevity"]


def rubric(rewards, weights, **params):
    fields = {"reward_names": NAMES, "reward_weights": weights, "params": params}
    return probe.rewards("pow3r", rewards, [0] * len(rewards), **fields)["rubric"]


def test_weight_moves_to_the_criterion_that_separates():
    """Format says nothing here: of the 0.4 that it shares with brevity it keeps 0.2 to 1 of its 0.2."""
    found = rubric([[1, 1, 1], [0, 1, 0]], [1.0, 0.2, 0.2])
    kept = 0.4 * 0.2 / 1.2
    assert found == approx([1, kept / 1.4])
    assert rubric([[1, 1, 1], [0, 1, 0]], [1.0, 0.2, 0.2], floor=0.0) == approx([1, 0])


def test_equal_contrast_and_no_contrast_are_the_static_rubric():
    assert rubric([[1, 1, 0], [0, 0, 1]], [1.0, 0.2, 0.3]) == approx([1.2 / 1.5, 0.3 / 1.5])
    assert rubric([[1, 1, 0.5], [1, 1, 0.5]], [1.0, 0.2, 0.2]) == approx([1.3 / 1.4] * 2)


def test_a_column_that_does_not_apply_has_no_weight():
    assert rubric([[1, None, 0.5], [0, None, 0.5]], [1.0, 0.2, 0.2]) == approx([1.1 / 1.2, 0.1 / 1.2])
