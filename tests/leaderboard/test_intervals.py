from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard import statistics as st

NAN = math.nan
SEEDS = np.array([0.41, 0.38, 0.45, 0.40, 0.43, 0.47, 0.36, 0.41])


def test_many_intervals_at_once_are_each_its_own():
    board = np.random.default_rng(0).normal(0.4, 0.03, (4, 3, 6))
    board[1, 2, 3] = NAN
    board[2, 0, 1:] = NAN
    mean, low, high = st.t_limits(board, 0.9)
    for place in np.ndindex(4, 3):
        one = st.t_interval(board[place], 0.9)
        assert (one.mean, one.low, one.high) == pytest.approx((mean[place], low[place], high[place]), nan_ok=True)
    assert math.isnan(low[2, 0])


def test_moments_leave_out_what_is_missing():
    n, mean, deviation = st.moments([[1.0, NAN, 3.0], [2.0, NAN, NAN], [NAN, NAN, NAN]])
    assert n.tolist() == [2, 1, 0]
    assert mean == pytest.approx([2, 2, NAN], nan_ok=True)
    assert deviation == pytest.approx([math.sqrt(2), NAN, NAN], nan_ok=True)


def test_paired_p_of_many_comparisons_is_each_ones():
    differences = np.random.default_rng(1).normal(0.01, 0.02, (5, 7))
    differences[1, 2] = NAN
    differences[2] = 0.0
    differences[3] = 0.25
    differences[4, 1:] = NAN
    found = st.paired_p_values(differences)
    each = [st.paired_p(row[~np.isnan(row)]) for row in differences]
    assert found == pytest.approx(each, nan_ok=True)
    assert found[2:4].tolist() == [1.0, 0.0]


def test_holm_of_many_boards_is_each_boards():
    p = np.random.default_rng(2).random((4, 5, 6)) ** 3
    p[0, 0, 2] = NAN
    found = st.holm(p, 8)
    for place in np.ndindex(4, 5):
        assert found[place] == pytest.approx(st.holm(p[place], 8), nan_ok=True)
    assert (found[~np.isnan(found)] >= p[~np.isnan(p)]).all()


def test_iqm_drops_the_outer_quarters_as_rliable_does():
    """rliable's IQM is scipy's trimmed mean of the flat matrix; of eight values the middle four remain."""
    flat = np.sort(np.random.default_rng(3).random(8))
    assert st.interquartile_mean(flat) == pytest.approx(flat[2:6].mean())
    outlier = flat.copy()
    outlier[-1] = 1e9
    assert st.interquartile_mean(outlier) == pytest.approx(st.interquartile_mean(flat))


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_bootstrap_agrees_with_scipy(kind):
    ours = st.bootstrap_interval(SEEDS, kind=kind, draws=20_000)
    theirs = stats.bootstrap(
        (SEEDS,), np.mean, n_resamples=20_000, method=kind, rng=np.random.default_rng(5)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.002)
    assert ours.mean == pytest.approx(SEEDS.mean())


def test_bca_leans_towards_the_long_tail():
    skewed = np.array([0.1, 0.11, 0.12, 0.13, 0.15, 0.3, 0.6])
    plain, bca = (st.bootstrap_interval(skewed, kind=kind) for kind in ("percentile", "bca"))
    assert bca.low > plain.low
    assert bca.high > plain.high


def test_bootstrap_keeps_seeds_whole_and_draws_from_its_own_generator():
    both = np.stack([SEEDS, 1 - SEEDS], axis=1)  # what one task gains, the other loses: whole seeds always average .5
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what must not move
    found = st.bootstrap_interval(both)
    assert (found.low, found.high) == pytest.approx((0.5, 0.5))
    assert st.bootstrap_interval(SEEDS, seed=3) == st.bootstrap_interval(SEEDS, seed=3)
    assert st.bootstrap_interval(SEEDS, seed=3) != st.bootstrap_interval(SEEDS, seed=4)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_bootstrap_of_another_statistic_and_at_the_edges():
    found = st.bootstrap_interval(SEEDS, lambda values: np.median(values, axis=1), kind="bca")
    assert found.low <= found.mean == np.median(SEEDS) <= found.high
    assert st.bootstrap_interval([0.3] * 5, kind="bca") == st.Interval(0.3, 0.3, 0.3, 5)
    assert math.isnan(st.bootstrap_interval([0.3]).low)
    with pytest.raises(UsageError, match="percentile or bca"):
        st.bootstrap_interval(SEEDS, kind="basic")
