import numpy as np
import pytest

from harness import probe

FIELDS = {"logp": [[-0.1, -2.0], [-0.2, -3.0]], "logp_old": [[-0.1, -2.0], [-0.2, -3.0]], "advantages": [1.0, -1.0],
          "mask": [[1, 1], [1, 1]]}  # fmt: skip
COV = np.array([[1.225, -0.675], [-1.125, 1.675]])  # (A - 0)(logp + 1.325)


def gradient(**params):
    return probe.token_loss("clip-cov", **FIELDS, params=params)[1]


def test_tokens_in_the_range_lose_their_gradient():
    assert (gradient(share=1.0, low=1.0, high=1.5) == 0).tolist() == ((COV > 1) & (COV < 1.5)).tolist()
    assert (gradient(share=1.0, low=0.0) == 0).tolist() == (COV > 0).tolist()


def test_as_many_as_the_share_says_and_at_least_one():
    assert (gradient(share=0.5, low=-9.0, high=9.0) == 0).sum() == 2
    assert (gradient(low=0.0) == 0).sum() == 1


@pytest.mark.parametrize("params", [{"low": 1.0, "high": 1.0}, {"low": 50.0, "high": 60.0}])
def test_no_candidate_is_ppo(params):
    expected = probe.objective("grpo(beta=0)+token-mean", **FIELDS)
    found = probe.objective("clip-cov", **FIELDS, params=params)
    assert found[0] == pytest.approx(expected[0])
    np.testing.assert_allclose(found[1], expected[1])


def test_equal_advantages_have_no_covariance():
    fields = {**FIELDS, "advantages": [1.0, 1.0]}
    assert probe.token_loss("clip-cov(share=1.0, low=1e-9)", **fields)[1].all()
