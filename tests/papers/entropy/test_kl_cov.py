import numpy as np
import pytest

from harness import probe

FIELDS = {"logp": [[-0.1, -2.0], [-0.2, -3.0]], "logp_old": [[-0.4, -2.0], [-0.2, -2.8]], "advantages": [1.0, -1.0],
          "mask": [[1, 1], [1, 1]]}  # fmt: skip


def losses(**params):
    return probe.token_loss("kl-cov", **FIELDS, params=params)[0]


def test_the_largest_covariance_pays_for_its_distance():
    plain = losses(coef=0.0)
    assert plain[0] == pytest.approx([-np.exp(0.3), -1])
    np.testing.assert_allclose(losses() - plain, [[0, 0], [0, 0.2]], atol=1e-12)
    np.testing.assert_allclose(losses(share=0.5, coef=2.0) - plain, [[0.6, 0], [0, 0.4]], atol=1e-12)


def test_nothing_is_clipped():
    far = {**FIELDS, "logp": [[2.0, -2.0], [-0.2, -3.0]]}
    assert probe.token_loss("kl-cov", **far)[1].all()


def test_masked_tokens_are_neither_counted_nor_chosen():
    fields = {**FIELDS, "mask": [[1, 1], [1, 0]]}
    assert probe.token_loss("kl-cov(share=1.0)", **fields)[0][1, 1] == 0
