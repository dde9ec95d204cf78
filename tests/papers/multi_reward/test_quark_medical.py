import pytest
import torch
from harness_papers.multi_reward.quark_medical import QuarkMedical

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def shaped(plugin, rewards, **fields):
    wrapper = plugin.shape_rewards()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(make_batch(rewards, **fields))
    return stopped.value.value.reward


def started(**params):
    plugin = QuarkMedical(**params)
    plugin.start()
    return plugin


def test_one_column_is_standardised_under_the_starting_policy():
    plugin = started()
    found = shaped(plugin, [0.0, 1.0, 2.0])
    assert found.tolist() == approx([-1, 0, 1], abs=1e-5)
    # Later batches keep the first scale, so that a mastered column's spread stays small.
    assert shaped(plugin, [1.9, 2.0, 1.9]).diff().abs().max() < 0.11


def test_a_twin_column_lowers_both_weights():
    apart = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.float64)
    twins = apart.clone()
    twins[:, 1] = twins[:, 0]
    weights = []
    for rewards in (apart, twins):
        plugin = started()
        shaped(plugin, rewards)
        batch = make_batch(rewards)
        scaled = (rewards - plugin.mean) / plugin.std
        weights.append(plugin._weights(batch, scaled, batch.groups))
        assert float(weights[-1].sum()) == approx(3)
    assert weights[0].tolist() == approx([1, 1, 1])
    assert weights[1][0] == weights[1][1] < weights[1][2]


def test_columns_that_reached_their_target_fall_back_to_equal_weights_and_constants_are_nothing():
    plugin = started()
    shaped(plugin, [0.0, 1.0, 2.0])
    assert shaped(plugin, [9.0, 9.0, 9.0]).tolist() == approx([8, 8, 8], rel=1e-4)
    assert probe.rewards("quark-medical", [3.0, 3.0], [0, 0])["aligned"].tolist() == [0, 0]
