import math

import numpy as np
import pytest

from harness import probe


def phi(weight, advantage, tokens=1):
    """The factor on A grad logp of a completion whose whole ratio is `weight`."""
    gap = [[math.log(weight) / tokens] * tokens]
    fields = {"logp_old": [[0.0] * tokens], "advantages": [advantage], "mask": [[1] * tokens]}
    return (-probe.token_loss("vespo", logp=gap, **fields)[1][0] / advantage).tolist()


@pytest.mark.parametrize(
    ("weight", "positive", "negative"), [(1, 1, 1), (2, 0.199148, 1.082683), (0.5, 1.120422, 0.339785)]
)
def test_worked_examples_at_any_length(weight, positive, negative):
    for tokens in (1, 4):
        assert phi(weight, 2.0, tokens) == pytest.approx([positive] * tokens, abs=1e-6)
        assert phi(weight, -2.0, tokens) == pytest.approx([negative] * tokens, abs=1e-6)


def test_far_off_policy_fades_out():
    assert phi(1e12, 1.0) == [0] == phi(1e12, -1.0)
    assert 0 < phi(1e-12, 1.0)[0] < 1e-10


def test_stale_rows_are_measured_against_what_sampled_them():
    fields = {
        "logp": [[0.0], [0.0]], "logp_old": [[0.0], [0.0]], "logp_sampler": [[-math.log(2)]] * 2, "mask": [[1], [1]],
        "advantages": [1.0, 1.0], "age": [0, 3],
    }  # fmt: skip
    gradient = probe.token_loss("vespo", **fields)[1]
    np.testing.assert_allclose(-gradient[:, 0], [1, 0.199148], atol=1e-6)
