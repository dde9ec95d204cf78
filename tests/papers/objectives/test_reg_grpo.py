import pytest

from harness import probe
from tests.papers.worked import group_loss

REWARDS = [1, 0, 0, 0]


def test_the_first_update_is_guarded():
    advantages = probe.advantages("grpo", REWARDS, [0] * 4)
    loss, slope = group_loss("reg-grpo(tau=2.0)", REWARDS, [0.0] * 4)
    assert loss == pytest.approx((advantages**2).mean())
    assert slope == pytest.approx(-advantages / 4)  # 2 / N times 1 / tau


def test_a_policy_that_implies_the_advantage_has_no_loss():
    loss, slope = group_loss("reg-grpo", REWARDS, [0.3, 0.1, 0.1, 0.1])
    assert loss == pytest.approx(0, abs=1e-9)
    assert slope == pytest.approx([0] * 4, abs=1e-4)


def test_by_tau_it_is_gvpo_up_to_a_factor():
    moved = [0.3, -0.2, 0.1, 0.0]
    _, ours = group_loss("grpo(scale='none')+reg-grpo(tau=4.0, least=9.0)", REWARDS, moved)
    _, theirs = group_loss("gvpo(beta=0.25)", REWARDS, moved)
    assert ours == pytest.approx(theirs * 2 * 3 / 4)
