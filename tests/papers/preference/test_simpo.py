import math

import pytest

from harness import probe
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("simpo(beta=2.0, gamma=0.5)", [1, 0], [-0.4, -0.2])
    assert loss == pytest.approx(math.log1p(math.exp(0.9)))
    chance = 1 / (1 + math.exp(-0.9))
    assert slope == pytest.approx([-2 * chance, 2 * chance])


def test_mean_log_probabilities_without_a_reference():
    rows = {"rewards": [1, 0], "group": [0, 0], "mask": [[1, 1], [1, 0]], "logp": [[-0.2, -0.4], [-0.1, 0.0]]}
    loss, _ = probe.loss("simpo(gamma=0.0)", logp_old=[[0.0, 0.0]] * 2, **rows)
    assert loss == pytest.approx(math.log1p(math.exp(0.4)))


def test_the_margin_is_wanted_even_where_the_order_is_right():
    assert group_loss("simpo(gamma=2.0)", [1, 0], [0, 0])[0] > group_loss("simpo(gamma=0.0)", [1, 0], [0, 0])[0]
    assert group_loss("simpo", [1, 1], [0, 0])[0] == 0
