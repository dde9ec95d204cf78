import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

RATIOS = np.array([[0.3, 0.7, 1.0, 1.3, 3.5]])


def passes(mode, sign, **params):
    fields = {"logp": np.log(RATIOS), "logp_old": np.zeros((1, 5)), "mask": np.ones((1, 5)), "advantages": [sign]}
    return -sign * probe.token_loss("rec", params={"mode": mode, **params}, **fields)[1][0]


@pytest.mark.parametrize(
    ("mode", "good", "bad"),
    [
        ("one-side", [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]),
        ("two-side", [0, 0, 1, 0, 0], [0, 0, 1, 0, 0]),
        ("ring", [1, 0, 1, 0, 0], [0, 0, 1, 0, 1]),
        ("none", [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    ],
)
def test_which_tokens_pass(mode, good, bad):
    assert passes(mode, 1.0).tolist() == good
    assert passes(mode, -1.0).tolist() == bad


def test_with_ratios_one_side_has_the_gradient_of_ppo():
    fields = {"logp": np.log(RATIOS), "logp_old": np.zeros((1, 5)), "mask": np.ones((1, 5)), "advantages": [1.0]}
    ours = probe.token_loss("rec(weight='importance')", **fields)[1]
    assert ours == approx(probe.token_loss("grpo(beta=0)", **fields)[1])


def test_advantages():
    assert advantages("rec", ONE_OF_FOUR).tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages("rec(scale=True)", [1, 0]).tolist() == approx([1, -1], abs=1e-5)
    assert advantages("rec(scale=True)", [0.7]).tolist() == [0]
    with pytest.raises(HarnessError, match="ring"):
        advantages("rec(mode='square')", [0.7])


def one(method, ratio=1.2, advantage=1.0):
    fields = {"logp": np.log([[ratio, 1.0]]), "logp_old": np.zeros((1, 2)), "mask": [[1, 1]], "advantages": [advantage]}
    return probe.token_loss(method, **fields)[1][0].tolist()


def test_the_other_families():
    assert one("rec(mode='none', weight='advantage', temperature=2)") == approx([-(np.e**0.5)] * 2)
    assert one("rec(mode='none', penalty='k2', strength=0.5)") == approx([-1 + np.log(1.2), -1])
    assert one("rec(mode='none', penalty='forward', strength=0.5)") == approx([-1.5, -1.5])
    assert one("rec(mode='gspo', clip_high=0.05)") == [0, 0]
    assert one("rec(mode='gspo', clip_high=0.1, weight='importance')") == approx([-(1.2**0.5)] * 2)
    assert probe.weights("rec(mode='gspo')", [[1, 1, 1], [1, 0, 0]]).sum(1).tolist() == approx([0.5, 0.5])


def test_dropping_balances_both_sides():
    got = advantages("rec(drop='balance')", [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    assert (got[:2] > 0).all()
    assert (got[2:] < 0).sum() == 2
    assert (got == 0).sum() == 3
    assert got.sum() == approx(0, abs=1e-12)
    plain = advantages("rec", [1.0, 1.0, 0.0])
    assert advantages("rec(drop='balance')", [1.0, 1.0, 0.0]).tolist() == plain.tolist()
