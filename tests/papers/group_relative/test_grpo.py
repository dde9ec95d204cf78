import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("grpo", [1.5, -0.5, -0.5, -0.5]),
        ("grpo(scale='none')", [0.75, -0.25, -0.25, -0.25]),
        ("grpo(scale='batch')", [1.5, -0.5, -0.5, -0.5]),
        ("grpo(scale='others')", [1, -1 / 3 / 3**-0.5, -1 / 3 / 3**-0.5, -1 / 3 / 3**-0.5]),
    ],
)
def test_one_right_answer_of_four(method, expected):
    assert advantages(method, ONE_OF_FOUR).tolist() == approx(expected, abs=1e-5)


def test_it_is_blind_to_scale_and_shift():
    rewards = np.array([0.3, 0.9, -0.4, 0.1])
    assert advantages("grpo", 7 * rewards + 3) == approx(advantages("grpo", rewards), abs=1e-4)
    with pytest.raises(HarnessError, match="'group', 'batch'"):
        advantages("grpo(scale='groop')", ONE_OF_FOUR)


def test_the_clip_is_symmetric():
    fields = {"logp": np.log([[1.5, 0.5, 1.1]]), "logp_old": np.zeros((1, 3)), "advantages": [1.0], "mask": [[1] * 3]}
    loss, gradient = probe.token_loss("grpo", **fields)
    assert loss[0].tolist() == approx([-1.2, -0.5, -1.1])
    assert gradient[0].tolist() == approx([0.0, -0.5, -1.1])


def test_the_value_is_nothing_and_the_gradient_is_not_where_the_policy_has_not_moved():
    fields = {"logp": np.zeros((4, 1)), "logp_old": np.zeros((4, 1)), "mask": np.ones((4, 1))}
    value, gradient = probe.loss("grpo", rewards=ONE_OF_FOUR, group=[0] * 4, **fields)
    assert value == approx(0, abs=1e-9)
    assert gradient[0, 0] == approx(-1.5 / 4, abs=1e-5)


def test_the_kl_is_in_the_loss():
    value, gradient = probe.regularizer("grpo(beta=1)", logp=[[0.5, 9.0]], logp_ref=[[0.0, 0.0]], mask=[[1.0, 0.0]])
    assert value == approx(0.106531, abs=1e-6)
    assert gradient[0].tolist() == approx([0.393469, 0.0], abs=1e-6)
    value, gradient = probe.regularizer("grpo(beta=0)", logp=[[0.5]], mask=[[1.0]])
    assert value == 0
    assert not gradient.any()
    with pytest.raises(HarnessError, match="logp_ref"):
        probe.regularizer("grpo", logp=[[0.5]], mask=[[1.0]])
