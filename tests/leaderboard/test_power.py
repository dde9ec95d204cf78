from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard import statistics as st


@pytest.mark.parametrize(("seeds", "effect"), [(5, 1.0), (10, 1.0), (20, 0.5), (34, 0.5)])
def test_power_is_that_of_the_noncentral_t(seeds, effect):
    edge = stats.t.ppf(0.975, seeds - 1)
    law = stats.nct(seeds - 1, effect * math.sqrt(seeds))
    assert st.paired_power(seeds, effect, 1.0) == pytest.approx(law.sf(edge) + law.cdf(-edge), abs=1e-6)


def test_power_from_the_tables():
    """Cohen's d of .5 at power .8 needs 34 pairs; of 1 it needs 10, of .2 it needs 199."""
    assert [st.seeds_needed(effect, 1.0) for effect in (0.2, 0.5, 1.0)] == [199, 34, 10]


def test_power_of_no_effect_is_the_level():
    assert st.paired_power(12, 0.0, 1.0) == pytest.approx(0.05, abs=1e-6)
    assert st.paired_power(12, 0.0, 1.0, comparisons=10) == pytest.approx(0.005, abs=1e-6)


def test_power_has_no_sign_and_no_unit_and_rises():
    assert st.paired_power(8, -0.02, 0.03) == st.paired_power(8, 0.02, 0.03)
    assert st.paired_power(8, 2.0, 3.0) == pytest.approx(st.paired_power(8, 0.02, 0.03))
    grid = [[st.paired_power(n, d, 1.0) for d in (0.2, 0.8, 2.0)] for n in (3, 5, 10, 50)]
    assert (np.diff(grid, axis=0) > 0).all()
    assert (np.diff(grid, axis=1) > 0).all()


def test_power_of_very_many_seeds_is_the_normals():
    shift = 0.003 * math.sqrt(1_000_000)
    normal = stats.norm.sf(1.959964 - shift) + stats.norm.cdf(-1.959964 - shift)
    assert st.paired_power(1_000_000, 0.003, 1.0) == pytest.approx(normal, abs=1e-5)


def test_power_at_the_edges():
    assert st.paired_power(1, 1.0, 1.0) == 0
    assert st.paired_power(5, 0.1, 0.0) == 1
    assert st.paired_power(5, 0.0, 0.0) == 0


def test_seeds_needed_is_the_first_number_that_is_enough():
    for effect, comparisons in ((0.02, 1), (0.02, 10), (0.1, 10)):
        n = st.seeds_needed(effect, 0.03, comparisons=comparisons)
        assert st.paired_power(n, effect, 0.03, comparisons=comparisons) >= 0.8
        assert n == 5 or st.paired_power(n - 1, effect, 0.03, comparisons=comparisons) < 0.8


def test_seeds_needed_never_fall_below_what_a_board_asks_for():
    assert st.seeds_needed(1.0, 0.001) == 5
    assert st.seeds_needed(1.0, 0.0) == 5
    assert st.seeds_needed(1.0, 0.001, least=2) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"effect": 0.0}, "other than 0"), ({"power": 1.0}, "power"), ({"effect": 1e-6}, "over a million seeds")],
)
def test_what_cannot_be_reached_is_an_error(arguments, message):
    with pytest.raises(UsageError, match=message):
        st.seeds_needed(**{"effect": 0.1, "deviation": 1.0, **arguments})


@pytest.mark.parametrize("seeds", [2, 5, 10, 100])
def test_the_detectable_effect_has_just_the_power(seeds):
    effect = st.minimum_detectable_effect(seeds, 0.03, comparisons=4)
    assert st.paired_power(seeds, effect, 0.03, comparisons=4) == pytest.approx(0.8, abs=1e-6)
    assert math.isnan(st.minimum_detectable_effect(1, 0.03))


@pytest.mark.parametrize(("items", "points"), [(30, 26), (164, 11), (500, 6), (1319, 4)])
def test_what_item_counts_can_show(items, points):
    assert round(100 * st.detectable_by_items(items)) == points


def test_limits_of_a_deviation_are_those_of_the_chi_square_tables():
    """Factors of a 95 % interval: 2 values 0.446 and 31.91, 5 values 0.599 and 2.874, 10 values 0.688 and 1.826."""
    assert st.deviation_limits(1.0, 2) == pytest.approx((0.4461, 31.910), abs=1e-3)
    assert st.deviation_limits(2.0, 5) == pytest.approx((1.1983, 5.7471), abs=1e-3)
    assert st.deviation_limits(1.0, 10) == pytest.approx((0.6878, 1.8256), abs=1e-3)
    assert st.deviation_limits(1.0, 1) == (0.0, math.inf)


def test_limits_of_a_deviation_hold_the_truth_as_often_as_they_say():
    drawn = np.random.default_rng(3).normal(0.0, 2.0, (4000, 4)).std(axis=1, ddof=1)
    limits = np.array([st.deviation_limits(float(s), 4) for s in drawn])
    assert np.mean((limits[:, 0] < 2) & (limits[:, 1] > 2)) == pytest.approx(0.95, abs=0.012)


def test_the_range_of_seeds_is_that_of_the_deviations_limits():
    low, high = st.deviation_limits(0.03, 5)
    assert st.seeds_range(0.03, 0.03, 5) == (st.seeds_needed(0.03, low), st.seeds_needed(0.03, high)) == (6, 67)
    assert st.seeds_range(0.001, 0.03, 2)[1] == math.inf
    with pytest.raises(UsageError, match="other than 0"):
        st.seeds_range(0.0, 0.03, 5)
