from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from scipy import stats

from harness.errors import UsageError
from harness.evaluation import pass_at_k as of_one_item
from harness.leaderboard import statistics as st


def test_error_without_clusters_is_the_plain_one():
    values = np.array([1.0, 0, 1, 1, 0, 1, 0, 0, 1])
    assert st.clustered_error(values) == pytest.approx(stats.sem(values))
    assert st.clustered_error(values, np.arange(9)) == pytest.approx(stats.sem(values))


def test_items_that_repeat_carry_no_information():
    """Four copies of each item: clustered, the error is that of the items without their copies."""
    values = np.random.default_rng(0).random(30)
    copies, source = np.repeat(values, 4), np.repeat(np.arange(30), 4)
    assert st.clustered_error(copies, source) == pytest.approx(stats.sem(values))
    assert st.clustered_error(copies) < 0.6 * stats.sem(values)


def test_clustered_error_by_the_papers_double_sum():
    """Miller's sum over pairs of items within clusters, times G / (G - 1) for few clusters."""
    values, source = np.random.default_rng(1).random(7), np.array(list("aabbbcd"))
    off = values - values.mean()
    pairs = sum(off[i] * off[j] for i in range(7) for j in range(7) if source[i] == source[j])
    assert st.clustered_error(values, source) == pytest.approx(math.sqrt(pairs / 49 * 4 / 3))


def test_error_of_one_cluster_is_unknown():
    assert math.isnan(st.clustered_error([0.3, 0.4], ["a", "a"]))
    assert math.isnan(st.clustered_error([]))


def test_evaluation_error_does_not_shrink_with_seeds_that_agree():
    one = np.random.default_rng(2).integers(0, 2, (1, 50)).astype(float)
    assert st.evaluation_error(np.repeat(one, 10, axis=0)) == pytest.approx(st.evaluation_error(one))


def test_item_differences_keep_seeds_that_both_have():
    one = np.array([[1.0, 0, 1], [1, 1, 1], [math.nan, 0, 0]])
    two = np.array([[0.0, 0, 1], [math.nan, 1, 1], [0, 0, 0]])
    assert st.item_differences(one, two).tolist() == [[1, 0, 0]]
    with pytest.raises(UsageError, match="seeds x items"):
        st.item_differences([0.1], [0.2])


def test_two_way_interval_is_students_where_items_agree():
    seeds = np.array([0.1, 0.3, 0.2, 0.4, 0.15])
    found, plain = st.two_way_interval(np.repeat(seeds[:, None], 20, axis=1)), st.t_interval(seeds)
    assert (found.mean, found.low, found.high) == pytest.approx((plain.mean, plain.low, plain.high))
    turned = st.two_way_interval(np.repeat(seeds[None, :], 20, axis=0))  # and over items where seeds agree
    assert (turned.low, turned.high) == pytest.approx((plain.low, plain.high))


def test_two_way_variance_by_hand():
    """2 x 2: mean squares 4, 1 and 0 over seeds, items and the rest, so the variance is (4 + 1) / 4."""
    found = st.two_way_interval([[0.0, 1.0], [2.0, 3.0]])
    free = 25 / (16 + 1)
    assert found.mean == 1.5
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, free) * math.sqrt(5 / 4))


def test_two_way_interval_at_the_edges():
    assert math.isnan(st.two_way_interval([[0.1, 0.2]]).low)
    assert st.two_way_interval(np.zeros((3, 4))) == st.Interval(0.0, 0.0, 0.0, 3)
    noise = np.array([[1.0, -1.0], [-1.0, 1.0]])  # nothing but the rest: no variance of means at all
    assert st.two_way_interval(noise).low == 0.0


@given(hs.integers(0, 10_000), hs.integers(2, 6), hs.integers(2, 30))
def test_two_way_variance_is_never_below_that_of_seeds_or_items_alone(seed, seeds, items):
    array = np.random.default_rng(seed).integers(-1, 2, (seeds, items)).astype(float)
    found = st.two_way_interval(array)
    for alone in (st.t_interval(array.mean(axis=1)), st.t_interval(array.mean(axis=0))):
        # its quantile is between that of a normal and that of the fewest degrees of freedom
        error = (alone.high - alone.low) / (2 * stats.t.ppf(0.975, alone.n - 1))
        assert (found.high - found.low) / 2 >= 1.9 * error - 1e-9


@given(hs.integers(1, 12), hs.data())
def test_pass_at_k_is_that_of_each_item(n, data):
    correct = data.draw(hs.lists(hs.integers(0, n), min_size=1, max_size=6))
    k = data.draw(hs.integers(1, n))
    assert st.pass_at_k(correct, n, k) == pytest.approx([of_one_item(n, c, k) for c in correct])


def test_pass_at_k_by_counting():
    # 2 right of 5: of the 10 pairs 3 hold none of them
    assert st.pass_at_k([2], 5, 2) == pytest.approx([0.7])
    assert st.pass_at_k([0, 5], [5, 5], 5).tolist() == [0.0, 1.0]
    assert st.pass_at_k([[1, 2]], [[4, 8]], 1) == pytest.approx(st.avg_at_k([[1, 2]], [[4, 8]]))


def test_too_few_samples_are_an_error():
    with pytest.raises(UsageError, match="pass@4 needs at least 4 samples an item, one has 3"):
        st.pass_at_k([1, 1], [4, 3], 4)
    with pytest.raises(UsageError, match="right samples"):
        st.avg_at_k([5], [4])
    with pytest.raises(UsageError, match="at least 1"):
        st.avg_at_k([0], [0])
