from types import SimpleNamespace

import pytest
from harness_papers.multi_reward.nonlinear_scalarisation import NonlinearScalarisation

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def slopes(low, high, **params):
    return list(NonlinearScalarisation(**params).slopes({"a": low, "b": high}).values())


def test_slopes_of_the_utilities():
    assert slopes(0.2, 0.8) == approx([5, 1.25])
    assert slopes(0.0, 0.8) == approx([20, 1.25])
    assert slopes(0.2, 0.8, utility="sum") == [1, 1]
    low, high = slopes(0.2, 0.8, utility="min")
    assert low + high == approx(2)
    assert low > 1.99


def test_rewards_are_weighted_by_the_slopes_at_the_running_means():
    rewards = [[0.4, 1.0], [0.0, 0.6]]
    assert probe.total_reward("nonlinear-scalarisation", rewards, [0, 0])[0] == approx([2 + 1.25, 0.75])
    plugin = NonlinearScalarisation(eta=0.5)
    plugin.start()
    plugin.means = {"r0": 0.0}
    plugin.end_step(SimpleNamespace(gathered=make_batch(rewards)))
    assert plugin.means == {"r0": approx(0.1), "r1": approx(0.8)}


def test_one_column_is_only_scaled():
    plain = probe.advantages("grpo(beta=0)", [0.1, 0.9], [0, 0])
    assert probe.advantages("nonlinear-scalarisation", [0.1, 0.9], [0, 0], shaped=True) == approx(plain, rel=1e-4)
