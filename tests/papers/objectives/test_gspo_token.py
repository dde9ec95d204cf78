import numpy as np
import pytest

from harness import probe

LOGP, OLD = [[-0.8, -1.1, -0.8], [-1.0, -1.3, 0.0]], [[-1.0, -1.0, -1.0], [-1.0, -1.0, 0.0]]
MASK = [[1, 1, 1], [1, 1, 0]]


def objective(stack, advantages, **params):
    return probe.objective(stack, logp=LOGP, logp_old=OLD, advantages=advantages, mask=MASK, params=params)


@pytest.mark.parametrize("bounds", [(3e-4, 4e-4), (0.2, 0.2)])
def test_one_advantage_a_completion_is_gspo(bounds):
    params = {"clip_low": bounds[0], "clip_high": bounds[1]}
    token, whole = (objective(slug, [1.0, -2.0], **params) for slug in ("gspo-token", "gspo"))
    assert token[0] == pytest.approx(whole[0])
    np.testing.assert_allclose(token[1], whole[1], atol=1e-12)


def test_token_advantages_keep_their_differences():
    _, gradient = objective("gspo-token", [[1.0, -1.0, 0.0], [0.0, 0.0, 0.0]], clip_low=0.5, clip_high=0.5)
    ratio = np.exp(0.1)
    assert gradient[0] == pytest.approx([-ratio / 6, ratio / 6, 0])
