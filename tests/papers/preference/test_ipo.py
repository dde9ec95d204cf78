import pytest

from harness import probe
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("ipo(tau=0.25)", [1, 0], [0.4, -0.1])
    assert loss == pytest.approx((0.5 - 2) ** 2)
    assert slope == pytest.approx([-3, 3])


def test_nothing_moves_at_the_target():
    assert group_loss("ipo(tau=0.5)", [0, 1], [0.0, 1.0])[0] == pytest.approx(0)


def test_means_do_not_grow_with_the_length():
    rows = {"rewards": [1, 0], "group": [0, 0], "mask": [[1, 1], [1, 0]], "logp": [[0.2, 0.4], [0.1, 0.0]]}
    zeros = [[0.0, 0.0]] * 2
    for normalize, gap in ((False, 0.5), (True, 0.2)):
        stack = f"ipo(tau=0.5, normalize={normalize})"
        assert probe.loss(stack, logp_old=zeros, logp_ref=zeros, **rows)[0] == pytest.approx((gap - 1) ** 2)
