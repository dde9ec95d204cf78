import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, group_loss

TARGET = np.array([0.47537, 0.17488, 0.17488, 0.17488])


def test_the_gradient_is_policy_minus_target():
    _, slope = group_loss("lpo-listwise", ONE_OF_FOUR, [0.0] * 4)
    assert slope == pytest.approx(0.25 - TARGET, abs=1e-5)
    assert slope.sum() == pytest.approx(0)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_nothing_moves_at_the_target(direction):
    _, slope = group_loss(f"lpo-listwise(direction='{direction}')", ONE_OF_FOUR, np.log(TARGET))
    assert slope == pytest.approx([0] * 4, abs=1e-5)


def test_edges():
    assert group_loss("lpo-listwise", [0.2] * 3, [0.0] * 3)[1] == pytest.approx([0] * 3)
    assert group_loss("lpo-listwise", [1.0], [0.7])[1] == pytest.approx([0])
    with pytest.raises(HarnessError, match="direction"):
        group_loss("lpo-listwise(direction='both')", [1.0], [0.0])


def test_a_completion_without_a_reward_that_went_far_off_breaks_nothing():
    two, three = (
        group_loss("lpo-listwise(direction='reverse')", [1, 0, None][:n], [0.2, 0.0, 900.0][:n]) for n in (2, 3)
    )
    assert three[0] == pytest.approx(two[0])
    assert three[1] == pytest.approx([*two[1], 0])
