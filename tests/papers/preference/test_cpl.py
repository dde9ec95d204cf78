import math

import pytest

from harness import probe
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("cpl(alpha=1.0, lam=0.5)", [1, 0], [-0.4, -0.2])
    assert loss == pytest.approx(math.log1p(math.exp(0.3)))
    chance = 1 / (1 + math.exp(-0.3))
    assert slope == pytest.approx([-chance, 0.5 * chance])
    assert group_loss("cpl", [1, 0], [0, 0])[0] == pytest.approx(math.log(2))


def test_discount_and_length():
    rows = {"rewards": [1, 0], "group": [0, 0], "mask": [[1, 0, 1], [1, 0, 0]]}
    rows |= {"logp": [[-0.2, -9.0, -0.4], [0.0, 0.0, 0.0]], "logp_old": [[0.0] * 3] * 2}
    for params, score in (("gamma=0.5", -0.4), ("normalize=True", -0.3)):
        loss, _ = probe.loss(f"cpl(alpha=1.0, {params})", **rows)
        assert loss == pytest.approx(math.log1p(math.exp(-score)))


def test_cloning():
    plain, cloned = (group_loss(f"cpl(clone={clone})", [1, 0], [-0.4, -0.2]) for clone in (0.0, 2.0))
    assert cloned[0] - plain[0] == pytest.approx(0.8)
    assert cloned[1] - plain[1] == pytest.approx([-2, 0])
