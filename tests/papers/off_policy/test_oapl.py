import math

import pytest

from harness import probe
from tests.papers.worked import ONE_OF_FOUR, group_loss

VALUE = math.log((math.e + 3) / 4)


def test_the_value_is_the_groups_soft_maximum():
    found = probe.advantages("oapl(beta_value=1.0)", ONE_OF_FOUR, [0] * 4)
    assert found == pytest.approx([1 - VALUE, -VALUE, -VALUE, -VALUE])
    assert pytest.approx(0.3575, abs=1e-3) == VALUE


def test_the_residual_takes_the_log_ratio_to_the_sampling_policy():
    loss, slope = group_loss("oapl(beta=0.5, beta_value=1.0)", ONE_OF_FOUR, [1.0, 0, 0, 0])
    assert loss == pytest.approx(((0.5 + VALUE - 1) ** 2 + 3 * VALUE**2) / 4)
    assert slope[0] == pytest.approx(2 * 0.5 * (0.5 + VALUE - 1) / 4)


def test_equal_rewards_draw_the_log_ratio_to_0():
    assert group_loss("oapl(beta=1.0)", [0.3, 0.3], [0.4, 0.0])[1] == pytest.approx([0.4, 0])
    assert group_loss("oapl(beta=1.0)", [0.3], [0.0])[0] == pytest.approx(0)


@pytest.mark.parametrize("method", ["oapl", "a3po", "dppo-divergence", "ppo-ewma", "m2po(form='mask-stale')"])
def test_where_the_sampler_is_not_known_the_old_policy_stands_in(method):
    fields = {"logp": [[-0.5], [-0.7]], "logp_old": [[-0.6], [-0.6]], "rewards": [1.0, 0.0], "group": [0, 0]}
    unknown, same = (
        probe.loss(method, mask=[[1], [1]], logp_sampler=sampler, **fields)
        for sampler in ([[float("nan")]] * 2, fields["logp_old"])
    )
    assert unknown[0] == pytest.approx(same[0])
    assert unknown[1] == pytest.approx(same[1])
