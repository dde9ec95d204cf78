from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from harness.leaderboard import statistics as st

NAN = math.nan


def test_per_seed_reduces_tasks_and_keeps_missing_seeds():
    values = np.array([[0.2, 0.4], [NAN, 0.3], [0.5, 0.7]])
    assert st.per_seed(values) == pytest.approx([0.3, NAN, 0.6], nan_ok=True)
    four = np.array([[0.0, 1.0, 2.0, 100.0]])
    assert st.per_seed(four, "iqm") == pytest.approx([1.5])
    assert st.interquartile_mean(four) == pytest.approx(stats.trim_mean(four, 0.25, axis=-1))


def test_t_interval_agrees_with_scipy():
    values = np.array([0.41, 0.38, 0.45, NAN, 0.40, 0.43])
    found = st.t_interval(values)
    kept = values[~np.isnan(values)]
    low, high = stats.t.interval(0.95, 4, loc=kept.mean(), scale=stats.sem(kept))
    assert (found.mean, found.low, found.high, found.n) == pytest.approx((0.414, low, high, 5))


def test_t_interval_of_few_seeds_has_no_ends():
    assert st.t_interval([]).n == 0
    assert math.isnan(st.t_interval([]).mean)
    one = st.t_interval([0.3])
    assert (one.mean, one.n) == (0.3, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)


def test_paired_p_agrees_with_scipy():
    one, two = np.array([0.5, 0.6, 0.55, 0.7, 0.61]), np.array([0.45, 0.58, 0.5, 0.69, 0.55])
    pairs = st.paired_values(one, two)
    assert st.paired_p(pairs) == pytest.approx(stats.ttest_rel(one, two).pvalue)


def test_paired_values_leave_out_seeds_that_one_lacks():
    assert st.paired_values([0.5, NAN, 0.7], [0.4, 0.1, NAN]) == pytest.approx([0.1])


def test_paired_p_at_the_edges():
    assert st.paired_p([0.0] * 5) == 1.0
    assert st.paired_p([0.25] * 5) == 0.0
    assert math.isnan(st.paired_p([0.1]))
    assert math.isnan(st.paired_p([]))


def test_holm_worked_by_hand():
    # sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, then never falling
    assert st.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_counts_comparisons_that_cannot_be_made_yet():
    assert st.holm([0.01, NAN], 4) == pytest.approx([0.04, NAN], nan_ok=True)
    assert st.holm([], 3).size == 0
    assert st.holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])


def test_holm_rejects_whatever_a_bonferroni_interval_excludes():
    generator = np.random.default_rng(0)
    for _ in range(40):
        differences = generator.normal(0.02, 0.02, (6, 5))
        adjusted = st.holm([st.paired_p(row) for row in differences])
        for row, p in zip(differences, adjusted, strict=True):
            interval = st.t_interval(row, 1 - 0.05 / 6)
            if interval.low > 0 or interval.high < 0:
                assert p < 0.05


def brute_sign_flip(differences):
    sums = [abs(float(np.dot(signs, differences))) for signs in itertools.product([-1, 1], repeat=len(differences))]
    return float(np.mean([total >= abs(sum(differences)) - 1e-12 for total in sums]))


@pytest.mark.parametrize(
    "differences", [[0.1, 0.2, 0.3, 0.1, 0.2], [0.1, -0.2, 0.3], [0.0, 0.0], [-1, -2, -3, -4, 5, -6]]
)
def test_sign_flip_is_exact(differences):
    assert st.sign_flip_p(differences) == pytest.approx(brute_sign_flip(differences))


def test_sign_flip_agrees_with_scipy():
    differences = np.array([0.02, 0.05, -0.01, 0.04, 0.03, 0.06])
    found = stats.permutation_test(
        (differences,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert st.sign_flip_p(differences) == pytest.approx(found.pvalue)


def test_sign_flip_of_many_seeds_is_sampled_from_its_own_generator():
    differences = np.random.default_rng(1).normal(0.3, 1, 25)
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what must not move
    first, second = st.sign_flip_p(differences), st.sign_flip_p(differences)
    assert first == second
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert first == pytest.approx(st.paired_p(differences), abs=0.02)


@pytest.mark.parametrize(("family", "seeds"), [(1, 6), (10, 9), (2, 7)])
def test_least_seeds_for_the_sign_flip(family, seeds):
    assert st.least_seeds(0.05, family) == seeds
    assert 2 / 2**seeds * family <= 0.05 < 2 / 2 ** (seeds - 1) * family


def test_probability_of_improvement_is_mann_whitney_with_ties_half():
    one, two = np.array([0.5, 0.6, 0.6]), np.array([0.4, 0.6, 0.7])
    u = stats.mannwhitneyu(one, two).statistic
    assert st.probability_of_improvement(one, two) == pytest.approx(u / 9)
    assert st.probability_of_improvement(one, one) == 0.5


def test_probability_of_improvement_is_the_mean_over_tasks():
    one = np.array([[0.9, 0.1], [0.8, 0.2], [NAN, NAN]])
    two = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    assert st.probability_of_improvement(one, two) == 0.5
    assert math.isnan(st.probability_of_improvement(one[2:], two))


def test_area_under_curve_is_the_mean_over_the_budget():
    assert st.area_under_curve([0, 0.5, 1], [0.0, 0.4, 0.4]) == pytest.approx(0.3)
    assert st.area_under_curve([0, 1], [0.2, 0.4]) == pytest.approx(0.3)


def test_area_goes_on_flat_or_at_what_a_failure_scores():
    assert st.area_under_curve([0, 0.5], [0.2, 0.4]) == pytest.approx(0.15 + 0.2)
    assert st.area_under_curve([0, 0.5], [0.2, 0.4], final=0.2) == pytest.approx(0.15 + 0.1)
    assert st.area_under_curve([0.5], [0.4]) == pytest.approx(0.4)
    assert math.isnan(st.area_under_curve([], []))


@pytest.mark.parametrize("n", [5, 10])
def test_intervals_cover_what_they_say(n):
    """2,000 boards: coverage of the interval over seeds within 2 points, Gaussian and beta-distributed seeds."""
    generator = np.random.default_rng(n)
    half = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    for draws, truth in ((generator.normal(0.4, 0.03, (2000, n)), 0.4), (generator.beta(8, 12, (2000, n)), 0.4)):
        means, deviations = draws.mean(axis=1), draws.std(axis=1, ddof=1)
        covered = np.abs(means - truth) <= half * deviations
        assert covered.mean() == pytest.approx(0.95, abs=0.02)
        assert st.t_interval(draws[0]).low == pytest.approx(means[0] - half * deviations[0])


def test_simultaneous_intervals_cover_all_methods_at_once():
    generator = np.random.default_rng(7)
    n, methods, boards = 5, 9, 1500
    shared = generator.normal(0, 0.02, (boards, 1, n))  # the baseline's own noise is in every difference
    differences = generator.normal(0, 0.02, (boards, methods, n)) - shared
    half = stats.t.ppf(1 - 0.025 / methods, n - 1) / math.sqrt(n)
    missed = np.abs(differences.mean(axis=2)) > half * differences.std(axis=2, ddof=1)
    assert missed.any(axis=1).mean() <= 0.06


def test_identical_methods_are_seldom_called_better():
    """400 A/A boards of 10 methods, 5 seeds: some false claim on about 5 % of them at most."""
    generator = np.random.default_rng(3)
    scores = generator.normal(0.4, 0.02, (400, 10, 5)) + generator.normal(0, 0.02, (400, 1, 5))
    pairs = scores[:, 1:] - scores[:, :1]
    raw = stats.ttest_1samp(pairs, 0, axis=-1).pvalue
    assert st.paired_p(pairs[7, 3]) == pytest.approx(raw[7, 3])
    false = [(st.holm(row) < 0.05).any() for row in raw]
    assert np.mean(false) <= 0.08
