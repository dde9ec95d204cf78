import math

import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, group_loss


def test_worked_example():
    loss, slope = group_loss("real", ONE_OF_FOUR, [0.0] * 4)
    assert loss == pytest.approx(math.log(2) + math.log(4))
    assert slope == pytest.approx([-1, 0.5, 0.5, 0.5])


def test_weights_stay_below_one_over_tau():
    _, slope = group_loss("real(tau=0.5)", [1, 0], [-50.0, 50.0])
    assert slope == pytest.approx([-2, 2])


def test_prompts_of_one_kind_stay_in_the_number():
    loss, _ = group_loss("real", [*ONE_OF_FOUR, 1, 1], [0.0] * 6, [0, 0, 0, 0, 1, 1])
    assert loss == pytest.approx(math.log(8) / 2)


def test_plain_cross_entropy_and_other_labels():
    assert group_loss("real(form='each', tau=1.0)", [1, 0], [0.3, 0.3])[0] == pytest.approx(
        (math.log1p(math.exp(-0.3)) + math.log1p(math.exp(0.3))) / 2
    )
    scaled = [0.4, 0.0, 0.0, 0.0]  # none is right by the verdict
    assert group_loss("real(labels='advantage')", scaled, [0.0] * 4)[0] == pytest.approx(math.log(8))
    assert group_loss("real", scaled, [0.0] * 4)[0] == 0
    with pytest.raises(HarnessError, match="labels"):
        group_loss("real(labels='rank')", [1], [0.0])
