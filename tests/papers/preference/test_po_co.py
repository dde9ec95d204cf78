import math

import pytest

from harness.errors import HarnessError
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("po-co(alpha=0.5)", [3, 1, 0], [0.2, 0.0, 0.0])
    first, second = math.log1p(math.exp(-0.1)), math.log(2)
    assert loss == pytest.approx((2 * first + second) / 3)
    assert slope.sum() == pytest.approx(0)
    assert slope[0] < slope[1] < slope[2]


def test_the_normal_distribution():
    loss, _ = group_loss("po-co(alpha=1.0, link='probit')", [1, 0], [0.7, 0.0])
    assert loss == pytest.approx(-math.log(0.5 * (1 + math.erf(0.7 / math.sqrt(2)))))


def test_only_the_order_of_rewards_matters():
    first, second = (group_loss("po-co", rewards, [0.1, 0.4, 0.0]) for rewards in ([0.1, 0.5, 0.2], [1, 900, 2]))
    assert first[1] == pytest.approx(second[1])


def test_edges():
    assert group_loss("po-co", [1, 1], [0.3, 0.1])[0] == 0
    with pytest.raises(HarnessError, match="expected one of"):
        group_loss("po-co(link='linear')", [1, 0], [0, 0])
