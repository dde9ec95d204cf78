import math

import numpy as np
import pytest

from harness import probe

FIELDS = {"logp": [[0.3, -0.4, 0.0], [0.1, 0.0, 0.0]], "logp_old": np.zeros((2, 3)), "advantages": [1.0, -2.0],
          "mask": [[1, 1, 1], [1, 1, 0]]}  # fmt: skip


def loss(stack, gap):
    return probe.objective(stack, **FIELDS, logp_sampler=np.full((2, 3), -gap))


def test_a_constant_weight_multiplies_ppo():
    base, found = loss("grpo(beta=0)", 0.0), loss("decoupled-ppo", math.log(3))
    assert found[0] == pytest.approx(3 * base[0])
    np.testing.assert_allclose(found[1], 3 * base[1])


def test_the_weight_may_be_capped_or_left_out():
    base = loss("grpo(beta=0)", 0.0)[0]
    assert loss("decoupled-ppo(cap=2.0)", math.log(3))[0] == pytest.approx(2 * base)
    assert loss("decoupled-ppo(weigh=False)", math.log(3))[0] == pytest.approx(base)


def test_the_clip_is_round_the_proximal_policy():
    gradient = loss("decoupled-ppo", 2.0)[1]
    assert gradient[0].astype(bool).tolist() == [False, True, True]
