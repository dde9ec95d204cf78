import pytest
import torch
from harness_papers.multi_reward.constrained_rewards import ConstrainedRewards

from harness import probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx


def stepped(rewards, **params):
    plugin = ConstrainedRewards(**params)
    plugin.start()
    plugin.estimate_advantages(make_batch(rewards))
    plugin.end_step()
    return plugin


def test_half_of_every_reward_and_the_rest_for_closeness():
    fields = {"logp_old": [[0.0], [0.0]], "logp_ref": [[-1.0], [0.0]], "mask": [[1], [1]]}
    found = probe.advantages("constrained-rewards", [[1, 0], [0, 1]], [0, 0], **fields)
    assert found == approx([-(2**-0.5), 2**-0.5])  # the two rewards cancel; the first is further away
    alone = probe.advantages("constrained-rewards", [[1, 1], [0, 0]], [0, 0], **fields)
    assert alone == approx([0, 0], abs=1e-6)


def test_multipliers_fall_above_the_threshold_and_rise_below():
    plugin = stepped([[1.0, 0.0], [1.0, 0.5]], thresholds=(0.5,), dual_lr=1.0)
    assert plugin.lam.tolist() == approx([-0.25 * 0.5, 0.25 * 0.25])
    plugin.estimate_advantages(make_batch([[0.5, 0.5], [0.5, 0.5]]))
    plugin.end_step()
    assert plugin.lam[0] < -0.125  # momentum alone


def test_at_the_threshold_and_fixed_nothing_moves():
    assert stepped([[0.5], [0.5]], thresholds=(0.5,)).lam.tolist() == [0]
    assert stepped([[1.0], [1.0]], fixed=True).lam.tolist() == [0]
    assert stepped([[1.0], [1.0]], kind="exactly", thresholds=(0.0,), dual_lr=1.0).multipliers(1)[0] == approx(
        torch.tensor(-1.0).tanh()
    )


def test_as_many_thresholds_as_rewards():
    with pytest.raises(HarnessError, match="2 weighted columns"):
        probe.advantages("constrained-rewards(thresholds=(0.1, 0.2, 0.3))", [[1, 0]], [0], mask=[[1]], logp_ref=[[0.0]])
