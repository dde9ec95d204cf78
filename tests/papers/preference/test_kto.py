import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import group_loss


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_worked_example():
    moved, level = [0.6, 0.0], 0.3
    loss, slope = group_loss("kto(beta=0.5, undesired=2.0)", [1, 0], moved)
    good, bad = sigmoid(0.5 * (0.6 - level)), sigmoid(0.5 * (level - 0.0))
    assert loss == pytest.approx(((1 - good) + 2 * (1 - bad)) / 2)
    assert slope == pytest.approx([-0.25 * good * (1 - good), 0.5 * bad * (1 - bad)])


def test_the_reference_point_is_not_below_zero():
    loss, _ = group_loss("kto(beta=1.0)", [1], [-2.0])
    assert loss == pytest.approx(1 - sigmoid(-2.0))


def test_both_kinds_weigh_the_same():
    _, slope = group_loss("kto", [1, 0, 0, 0], [0] * 4)
    assert slope == pytest.approx(np.array([-1, 1 / 3, 1 / 3, 1 / 3]) * 0.025 / 4)
    plain = group_loss("kto(balance=False)", [1, 0, 0, 0], [0] * 4)[1]
    assert plain == pytest.approx(np.array([-1, 1, 1, 1]) * 0.025 / 4)


def test_who_is_good():
    assert group_loss("kto", [1, 1], [0, 0])[1] == pytest.approx([-0.0125, -0.0125])
    assert group_loss("kto(good='above')", [1, 1], [0, 0])[1] == pytest.approx([0, 0])
    slope = group_loss("kto(good='above')", [0.4, 0.1], [0, 0])[1]
    assert slope[0] < 0 < slope[1]
    with pytest.raises(HarnessError, match="expected one of"):
        group_loss("kto(good='all')", [1], [0])
