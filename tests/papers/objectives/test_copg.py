import pytest

from harness import probe
from tests.papers.worked import group_loss

REWARDS = [1, 0, 0.5, 0]


def test_on_policy_it_is_rloo():
    _, slope = group_loss("copg(beta=0.2)", REWARDS, [0.0] * 4)
    assert slope == pytest.approx(-probe.advantages("rloo(beta=0)", REWARDS, [0] * 4) / 4)


def test_the_baseline_is_the_siblings_regularised_reward():
    loss, slope = group_loss("copg(beta=0.1)", [1, 0], [2.0, 0.0])
    assert loss == pytest.approx((1 - 0.2) ** 2 / (4 * 0.1))
    assert slope == pytest.approx([-0.4, 0.4])


def test_the_minimiser_is_that_of_rebel():
    assert group_loss("copg(beta=0.5)", [1, 0], [2.0, 0.0])[0] == pytest.approx(0)
    assert group_loss("rebel(eta=2.0)", [1, 0], [2.0, 0.0])[0] == pytest.approx(0)
    assert group_loss("copg", [1], [3.0])[0] == 0
