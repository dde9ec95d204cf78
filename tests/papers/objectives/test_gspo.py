import math

import numpy as np
import pytest

from harness import probe

OLD = [[-1.0, -1.0, -1.0], [-1.0, -1.0, 0.0]]
MASK = [[1, 1, 1], [1, 1, 0]]


def gspo(logp, advantages, stack="gspo", **params):
    return probe.objective(stack, logp=logp, logp_old=OLD, advantages=advantages, mask=MASK, params=params)


def test_a_completion_beyond_the_bound_has_no_gradient():
    logp = [[-0.8, -1.1, -0.8], [-1, -1, 0]]
    loss, gradient = gspo(logp, [1.0, 0.0])
    assert loss == pytest.approx(-1.0004 / 2)
    assert not gradient.any()
    loss, gradient = gspo(logp, [-1.0, 0.0])
    assert loss == pytest.approx(math.exp(0.1) / 2)
    assert gradient[0] == pytest.approx([math.exp(0.1) / 6] * 3)


def test_a_completion_counts_once_whatever_its_length():
    _, gradient = gspo(OLD, [1.0, 1.0])
    assert gradient.sum(1) == pytest.approx([-0.5, -0.5])


def test_token_advantages_are_averaged():
    logp = [[-1.1, -0.9, -1.2], [-1, -1.3, 0]]
    token = gspo(logp, [[1.0, 2.0, 6.0], [0.5, -0.5, 9.0]], clip_low=0.5, clip_high=0.5)
    whole = gspo(logp, [3.0, 0.0], clip_low=0.5, clip_high=0.5)
    assert token[0] == pytest.approx(whole[0])
    np.testing.assert_allclose(token[1], whole[1])
