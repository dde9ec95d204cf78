import numpy as np
import pytest

from harness import probe


def test_the_stationary_point_is_a_log_ratio_of_advantage_over_beta():
    for beta in (0.5, 2.0):
        fields = {"logp": [[0.6 / beta]], "logp_old": [[0.0]], "advantages": [0.6], "mask": [[1]]}
        loss, gradient = probe.token_loss("dro", **fields, params={"beta": beta})
        assert gradient == pytest.approx(0)
        assert loss == pytest.approx(-0.36 / beta + 0.18 / beta)


def test_without_an_advantage_it_pulls_back():
    fields = {"logp": [[0.3, -0.2]], "logp_old": [[0.0, 0.0]], "advantages": [0.0], "mask": [[1, 1]]}
    np.testing.assert_allclose(probe.objective("dro", **fields)[1], [[0.3, -0.2]])
