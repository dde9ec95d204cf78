import math

import numpy as np
import pytest

from harness import probe

ZEROS = [[0.0, 0.0], [0.0, 0.0]]


def gmpo(gaps, advantages, mask=((1, 1), (1, 1)), **params):
    logp = np.asarray(gaps, float) - 1
    old = np.full_like(logp, -1)
    return probe.objective("gmpo", logp=logp, logp_old=old, advantages=advantages, mask=mask, params=params)


def test_a_clipped_token_has_no_gradient_but_scales_the_rest():
    mean = math.exp((0.4 - 0.2) / 2)
    loss, gradient = gmpo([[0.6, -0.2]], [1.0], [[1, 1]])
    assert loss == pytest.approx(-mean)
    assert gradient[0] == pytest.approx([0, -mean / 2])


@pytest.mark.parametrize(("gap", "advantage", "slope"), [(0.6, -1, 1), (-0.6, -1, 0), (-0.6, 1, 1), (0.6, 1, 0)])
def test_only_the_harmful_side_is_clipped(gap, advantage, slope):
    assert bool(gmpo([[gap]], [advantage], [[1]])[1].any()) == bool(slope)


def test_on_policy_it_has_the_gradient_of_grpo():
    fields = {"logp": ZEROS, "logp_old": ZEROS, "advantages": [1.0, -2.0], "mask": [[1, 1], [1, 0]]}
    expected = probe.objective("grpo(beta=0)", **fields)[1]
    np.testing.assert_allclose(probe.objective("gmpo", **fields)[1], expected)


def test_the_authors_ablations():
    assert gmpo([[0.6, -0.2]], [1.0], [[1, 1]], clip="sequence", clip_high=0.3)[0] == pytest.approx(-math.exp(0.15))
    assert gmpo([[0.6, -0.2]], [1.0], [[1, 1]], clip="none")[0] == pytest.approx(-math.exp(0.2))
    assert gmpo([[0.2, -0.3]], [1.0], [[1, 1]], normalize=False)[0] == pytest.approx(-math.exp(-0.1))
