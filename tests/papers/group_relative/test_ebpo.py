import numpy as np
import torch
from harness_papers.group_relative.ebpo import EBPO

from tests.batches import make_batch
from tests.papers.worked import approx


def started():
    plugin = EBPO()
    plugin.start()
    return plugin


def test_half_way_between_group_and_everything():
    """sigma2 = 1/4, tau2 = 1/16 and groups of 4 give S = 1/2: an all-wrong group lies 1/4 below."""
    plugin = started()
    plugin.rewards = torch.tensor([1e12, 0.5, 0.25e12], dtype=torch.float64)
    plugin.means = torch.tensor([1e12, 0.5, 0.0625e12], dtype=torch.float64)
    rewards = [0.0] * 4 + [1.0, 1.0, 0.0, 0.0]
    got = plugin.estimate_advantages(make_batch(rewards, [0] * 4 + [1] * 4)).numpy()
    raw = np.array([-0.25] * 4 + [0.5, 0.5, -0.5, -0.5])
    assert plugin.shrinkage == approx(0.5, abs=1e-6)
    assert got == approx((raw - raw.mean()) / raw.std(ddof=1), abs=1e-5)


def test_the_state_is_that_of_all_rewards_so_far():
    plugin, seen = started(), []
    for rewards in ([1.0, 0.0, 0.0], [0.3, 0.9], [1.0]):
        plugin.estimate_advantages(make_batch(rewards))
        seen += rewards
    number, mean, square = plugin.rewards.tolist()
    assert (number, mean) == approx((6, np.mean(seen)))
    assert square / 5 == approx(np.var(seen, ddof=1))


def test_edges():
    plugin = started()
    assert not plugin.estimate_advantages(make_batch([0.3] * 4, [0, 0, 1, 1])).any()
    assert plugin.end_step() == {"shrinkage": 0.0}
    one = started()
    one.estimate_advantages(make_batch([1.0, 0.0]))
    assert one.shrinkage == 1.0
