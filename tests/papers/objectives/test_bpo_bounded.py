import math

import numpy as np
import pytest

from harness import probe


def bpo(ratio, rewards=(3.0, 2.0, 1.0), row=0, **fields):
    known = {"logp": np.full((len(rewards), 1), math.log(ratio)), "logp_old": np.zeros((len(rewards), 1))}
    known |= {"advantages": [1.0] * len(rewards), "mask": np.ones((len(rewards), 1)), "rewards": rewards}
    loss, gradient = probe.token_loss("bpo-bounded", group=[0] * len(rewards), **(known | fields))
    return loss[row, 0], gradient[row, 0] / ratio


def test_the_ratio_is_drawn_to_the_bound_on_its_side():
    assert bpo(1.0) == pytest.approx((0.2, -1))
    assert bpo(1.3) == pytest.approx((0.1, 1))
    assert bpo(1.0, row=2) == pytest.approx((0.2, 1))
    assert bpo(0.7, row=2) == pytest.approx((0.1, -1))


def test_the_median_itself_is_drawn_to_1():
    assert bpo(1.3, row=1) == pytest.approx((0.3, 1))
    assert bpo(1.3, rewards=(1.0, 0.0, 0.0, 0.0), row=2) == pytest.approx((0.3, 1))


def test_of_two_middles_the_median_is_the_mean():
    half = (1.0, 1.0, 0.0, 0.0)
    assert bpo(1.0, rewards=half, row=0) == pytest.approx((0.2, -1))
    assert bpo(1.0, rewards=half, row=2) == pytest.approx((0.2, 1))


def test_who_has_no_reward_is_no_part_of_the_median():
    assert bpo(1.0, rewards=(1.0, 2.0, 3.0, None, None), row=1) == pytest.approx((0, 0))
    assert bpo(1.0, rewards=(1.0, 2.0, 3.0, None, None), row=2) == pytest.approx((0.2, -1))


def test_sides_may_be_soft_and_bounds_apart():
    def target(params, row):
        return 3 - bpo(3.0, row=row, params=params)[0]

    assert [target({"eps_high": 0.4}, row) for row in range(3)] == pytest.approx([1.4, 1.1, 0.8])
    soft = [target({"temperature": 1.0}, row) for row in range(3)]  # the std of 3, 2, 1 is 1
    assert soft == pytest.approx([0.8 + 0.4 / (1 + math.exp(-x)) for x in (1, 0, -1)], abs=1e-6)
    sharp = [target({"temperature": 1e-4}, row) for row in range(3)]
    assert sharp == pytest.approx([1.2, 1, 0.8])


def test_equal_rewards_have_no_loss():
    assert probe.loss(
        "bpo-bounded", logp=[[0.3]] * 2, logp_old=[[0.0]] * 2, rewards=[1.0, 1.0], group=[0, 0], mask=[[1]] * 2
    )[0] == pytest.approx(0)
