import numpy as np

from harness import probe
from tests.papers.worked import advantages, approx

FIELDS = {"logp_old": np.zeros((1, 2)), "advantages": [0.7], "mask": [[1, 1]]}


def test_the_gradient_is_that_of_grpo_until_the_policy_moves():
    ours = probe.token_loss("rgra", logp=[[0.0, 0.0]], **FIELDS)
    assert ours[1] == approx(probe.token_loss("grpo", logp=[[0.0, 0.0]], **FIELDS)[1])
    moved = probe.token_loss("rgra", logp=[[3.0, -3.0]], **FIELDS)
    assert moved[0][0].tolist() == approx([-2.1, 2.1])
    assert moved[1][0].tolist() == approx([-0.7, -0.7])


def test_the_rest_is_grpo():
    assert advantages("rgra", [1.0, 0.0, 0.0]) == approx(advantages("grpo", [1.0, 0.0, 0.0]))
    value, _ = probe.regularizer("rgra", logp=[[0.5]], logp_ref=[[0.0]], mask=[[1]])
    assert value == approx(0.04 * 0.106531, abs=1e-6)
