from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard import statistics as st

INF, NAN = math.inf, math.nan


def test_budget_to_target_is_where_the_line_crosses():
    spent, scores = [0, 100, 200, 300], [0.2, 0.3, 0.5, 0.4]
    assert st.budget_to_target(spent, scores, 0.4) == pytest.approx(150)
    assert st.budget_to_target(spent, scores, 0.5) == 200  # falling back later takes nothing away
    assert st.budget_to_target(spent, scores, 0.2) == 0
    assert st.budget_to_target(spent, scores, 0.51) == INF
    assert st.budget_to_target([], [], 0.1) == INF
    assert st.budget_to_target([200, 0, 100, 300], [0.5, 0.2, 0.3, 0.4], 0.4) == pytest.approx(150)


def test_budget_to_target_rises_with_the_target():
    curve = np.random.default_rng(0).random(20)
    found = [st.budget_to_target(np.arange(20), curve, target) for target in np.linspace(0, 1.2, 30)]
    assert found == sorted(found)


def test_kaplan_meier_worked_by_hand():
    # at 1: 1 of 5; at 2 one is only censored; at 3: 1 of 3; at 4: 1 of 2
    found = st.kaplan_meier([1, 2, 3, 4, 5], [True, False, True, True, False])
    assert found.times.tolist() == [1, 3, 4]
    assert found.at_risk.tolist() == [5, 3, 2]
    assert found.share == pytest.approx([4 / 5, 4 / 5 * 2 / 3, 4 / 5 * 2 / 3 / 2])
    assert found.at([0, 1, 2.9, 3, 9]) == pytest.approx([1, 0.8, 0.8, 8 / 15, 4 / 15])
    assert found.area(5) == pytest.approx(1 + 2 * 0.8 + 8 / 15 + 4 / 15)
    assert found.area(0.5) == 0.5


def test_kaplan_meier_agrees_with_scipy():
    generator = np.random.default_rng(1)
    times, reached = generator.integers(1, 9, 40).astype(float), generator.random(40) < 0.6
    theirs = stats.ecdf(stats.CensoredData(uncensored=times[reached], right=times[~reached])).sf
    ours = st.kaplan_meier(times, reached)
    assert ours.at(np.arange(10)) == pytest.approx(theirs.evaluate(np.arange(10)))


def test_a_run_censored_when_another_arrives_was_still_at_risk():
    assert st.kaplan_meier([2, 2], [True, False]).share == pytest.approx([0.5])


def test_restricted_mean_counts_a_miss_as_the_whole_budget():
    budgets = [200.0, 400, INF, 300, NAN, 1000]
    found = st.restricted_mean(budgets, 1000)
    plain = st.t_interval([200, 400, 1000, 300, 1000])
    assert (found.mean, found.low, found.high, found.n) == pytest.approx((plain.mean, plain.low, plain.high, 5))


def test_restricted_mean_of_runs_watched_for_different_budgets():
    """A run that missed within 500 counts by what the others did after 500, not as 500."""
    found = st.restricted_mean([200.0, 400, INF, 800], [1000, 1000, 500, 1000])
    # the curve: 1 to 200, 3/4 to 400, 1/2 to 800 (one of the two left was only watched), then 0
    assert found.mean == pytest.approx(200 + 0.75 * 200 + 0.5 * 400)
    assert found.low < found.mean < found.high


@pytest.mark.parametrize(
    "budgets", [[INF] * 5, [100.0, INF, INF, INF, 200.0], [100.0] * 5, [100.0]], ids=["all", "most", "equal", "one"]
)
def test_no_interval_where_the_spread_says_nothing(budgets):
    found = st.restricted_mean(budgets, 1000)
    assert math.isnan(found.low)
    assert found.mean == pytest.approx(np.minimum(budgets, 1000).mean())


def test_restricted_mean_of_nothing():
    assert st.restricted_mean([NAN, NAN], 1000).n == 0


def test_score_profile_counts_runs_and_tasks_above():
    scores = np.array([[0.1, 0.5], [0.3, 0.5], [NAN, NAN]])
    assert st.score_profile(scores, [0.0, 0.2, 0.5, 0.6]).tolist() == [1.0, 0.75, 0.0, 0.0]
    assert np.isnan(st.score_profile(scores[2:], [0.1])).all()


def test_area_under_a_score_profile_is_the_mean():
    scores = np.random.default_rng(2).random((6, 3))
    grid = (np.arange(20_000) + 0.5) / 20_000
    assert st.score_profile(scores, grid).mean() == pytest.approx(scores.mean(), abs=1e-4)


BUDGETS = np.array([[100.0, 400, INF], [200, 100, INF], [INF, 800, INF]])


def test_budget_profile_worked_by_hand():
    assert st.budget_ratios(BUDGETS).tolist() == [[1, 4, INF], [2, 1, INF], [INF, 8, INF]]
    assert st.budget_profile(BUDGETS, [1, 2, 4]) == pytest.approx(np.array([[1, 1, 2], [1, 2, 2], [0, 0, 0]]) / 3)
    assert st.profile_area(BUDGETS) == pytest.approx([1 / 3, (2 / 3 + 1) / 3, 0])


def test_profile_area_is_the_area_under_the_profile():
    grid = 1 + 3 * (np.arange(5000) + 0.5) / 5000
    budgets = np.random.default_rng(3).uniform(1, 4, (4, 6))
    assert st.profile_area(budgets) == pytest.approx(st.budget_profile(budgets, grid).mean(axis=1), abs=1e-3)


def test_relative_to_a_reference_no_row_moves_when_another_joins():
    more = np.vstack([BUDGETS, [[1.0, 1.0, 1.0]]])
    assert st.profile_area(more, reference=0)[:3] == pytest.approx(st.profile_area(BUDGETS, reference=0))
    assert st.profile_area(more)[0] < st.profile_area(BUDGETS)[0]


def test_a_budget_of_nothing_has_no_ratio():
    with pytest.raises(UsageError, match="above 0"):
        st.budget_ratios([[0.0, 1.0]])
