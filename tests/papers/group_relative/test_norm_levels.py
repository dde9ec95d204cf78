import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

REWARDS, GROUP = [0.3, 0.9, -0.4, 0.1, 1.0], [0, 0, 0, 1, 1]


def test_both_levels_on_the_group_are_grpo():
    got = advantages("norm-levels(eps=1e-6)", REWARDS, GROUP)
    assert got == approx(advantages("grpo", REWARDS, GROUP))


def test_the_batch_as_a_level():
    got = advantages("norm-levels(mean='batch', std='batch', eps=0)", REWARDS, GROUP)
    assert got == approx((np.array(REWARDS) - np.mean(REWARDS)) / np.std(REWARDS, ddof=1))
    assert advantages("norm-levels(mean='none', std='none')", REWARDS, GROUP).tolist() == REWARDS


def test_leaving_oneself_out_enlarges_distance_and_spread_alike():
    one = advantages("norm-levels(eps=0)", REWARDS[:3])
    assert advantages("norm-levels(eps=0, leave_one_out=True)", REWARDS[:3]) == approx(one)
    plain = advantages("norm-levels(std='none', leave_one_out=True)", REWARDS[:3])
    assert plain == approx(advantages("rloo(beta=0)", REWARDS[:3]))


def test_edges():
    assert advantages("norm-levels", [0.3] * 3).tolist() == [0] * 3
    assert advantages("norm-levels", [0.3]).tolist() == [0]
    with pytest.raises(HarnessError, match="batch"):
        advantages("norm-levels(std='all')", [0.3])
