import pytest
from harness_papers.multi_reward.drw_hypervolume import DRWHypervolume

from tests.batches import make_batch

approx = pytest.approx


def measured(*points, **params):
    plugin = DRWHypervolume(**params)
    plugin.start()
    factors = []
    for point in points:
        plugin._measure(point)
        factors.append(plugin.factor)
    return plugin, factors


def test_growth_scales_up_and_standing_still_down():
    _, factors = measured((0.0, 0.0), (0.1, 1.0), (1.0, 1.0), (0.5, 0.5))
    assert factors == approx([1, 0.6495, 0.5 + 1.5 * 0.71630, 0.5], abs=1e-4)


def test_the_front_keeps_what_is_not_dominated():
    plugin, factors = measured((0, 0), (0.2, 0.8), (0.8, 0.2), (0.9, 0.3))
    assert plugin.front == [(0.2, 0.8), (0.9, 0.3)]
    assert factors[-1] > 0.5


def test_below_the_first_measurement_nothing_is_gained():
    assert measured((0.5, 0.5), (0.4, 0.9))[1] == [1, 0.5]


def test_the_objectives_are_means_of_the_batch():
    batch = make_batch([[1, 1], [0, 0.5]], lengths=[2, 4], max_tokens=4, reward_names=("correct", "format"))
    assert DRWHypervolume().objectives(batch) == approx((0.5, 0.25, 0.75))
    assert DRWHypervolume().objectives(make_batch([1.0], lengths=[1], max_tokens=4)) == approx((1, 0.75))
