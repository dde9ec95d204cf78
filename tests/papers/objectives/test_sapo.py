import math

import pytest

from harness import probe
from harness.errors import UsageError


def sapo(ratio, advantage, **params):
    loss, gradient = probe.token_loss(
        "sapo", logp=[[math.log(ratio)]], logp_old=[[0.0]], advantages=[advantage], mask=[[1]], params=params
    )
    return loss.item(), gradient.item() / ratio  # the gradient with respect to the ratio


def test_the_gate_has_slope_1_at_ratio_1_and_none_is_lost_far_away():
    assert sapo(1, 1.0) == pytest.approx((-2, -1))
    assert sapo(1, -1.0)[0] == pytest.approx(2 / 1.05)
    assert sapo(3, 1.0)[1] == pytest.approx(-0.41997, abs=1e-5)
    assert 0 < sapo(10, -1.0)[1] < 0.01


def test_negative_advantages_have_the_steeper_gate():
    assert sapo(2, -1.0, tau_neg=2.0)[1] < -sapo(2, 1.0, tau_pos=1.0)[1]


def test_the_level_may_be_the_completion():
    fields = {"logp": [[0.4, -0.2]], "logp_old": [[0.0, 0.0]], "advantages": [1.0], "mask": [[1, 1]]}
    loss, _ = probe.token_loss("sapo(level='sequence')", **fields)
    assert loss[0] == pytest.approx([sapo(math.exp(0.1), 1.0)[0]] * 2)
    with pytest.raises(UsageError, match="level"):
        probe.token_loss("sapo(level='word')", **fields)
