from types import SimpleNamespace

import pytest
from harness_papers.multi_reward.recap_weights import RECAP

from tests.batches import make_batch

approx = pytest.approx
NAMES = ("correct", "format")


def plugin(**series):
    found = RECAP()
    found.start()
    found.series = series
    return found


def test_the_calm_and_converged_objective_gets_the_least():
    factors = plugin(done=[1.0] * 4, low=[0.2] * 4, restless=[0.2, 0.6, 0.1, 0.5]).factors(["done", "low", "restless"])
    assert sum(factors.values()) == approx(3)
    assert factors["done"] < factors["low"] < factors["restless"]


def test_signals_worked_by_hand():
    assert RECAP.signal([0.5, 0.5]) == approx(0.5)
    assert RECAP.signal([1.0, 0.0]) == approx(0.5 + 0.5 / 0.5 + 1, rel=1e-5)
    assert RECAP.signal([0.0, 1.0]) == approx(0.5 + 0.5 / 0.5, rel=1e-5)


def test_too_short_or_equal_series_change_nothing_and_the_window_is_kept():
    assert plugin(a=[0.1]).factors(["a", "b"]) == {}
    assert plugin(a=[0.1, 0.2], b=[0.1, 0.2]).factors(["a", "b"]) == {"a": approx(1), "b": approx(1)}
    one = plugin(correct=[0.0] * 10)
    one.end_step(SimpleNamespace(gathered=make_batch([[1, 0.5], [0, 0.5]], reward_names=NAMES)))
    assert one.series == {"correct": [0.0] * 9 + [0.5], "format": [0.5]}
