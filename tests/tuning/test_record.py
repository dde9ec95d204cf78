from __future__ import annotations

import json
import math

import pytest

from harness.files import write_json
from harness.suites.run import plan
from harness.tuning.record import Tried, found


@pytest.fixture
def search(toy, tmp_path):
    """Four candidates of one row, on two seeds each."""
    return plan(toy("tuning.seeds=2"), out=tmp_path).searches[0]


def tried(scores, status="done", untrained=0.3):
    """Search trials with these scores, [candidate][seed]."""
    return [
        Tried(number, 1000 + n, status if math.isnan(score) else "done", score, untrained, 5.0, 1.0)
        for number, row in enumerate(scores)
        for n, score in enumerate(row)
    ]


def test_the_best_mean_is_chosen_and_the_earliest_of_equals(search):
    outcome = found(search, tried([[0.4, 0.4], [0.5, 0.2], [0.3, 0.6], [0.6, 0.3]]))
    assert outcome.scores == pytest.approx((0.4, 0.35, 0.45, 0.45))
    assert outcome.chosen.number == 2
    assert outcome.spent == 40


def test_nothing_is_chosen_while_a_trial_is_missing(search):
    scores = [[0.4, 0.4]] * 4
    assert found(search, tried(scores)[:-1]) is None
    assert found(search, tried([*scores[:-1], [0.4, math.nan]], status="interrupted")) is None


def test_failures_count_as_a_report_counts_them(search):
    """Before any evaluation: the untrained score under that seed, as the other trials measured it."""
    outcome = found(search, tried([[0.1, 0.1], [math.nan, 0.4], [0.3, 0.3], [0.2, 0.2]], status="failed"))
    assert outcome.scores[1] == pytest.approx((0.3 + 0.4) / 2)
    assert outcome.chosen.number == 1


def test_where_all_fail_the_published_values_stay(search):
    outcome = found(search, tried([[math.nan, math.nan]] * 4, status="failed", untrained=math.nan))
    assert outcome.chosen.number == 0


@pytest.mark.parametrize(("last", "scored"), [(0.1, 0.1), (0.5, 0.2)])
def test_a_killed_trial_scores_what_it_had_measured_and_is_charged_for(toy, tmp_path, last, scored):
    """Its worker wrote no score: the lower of the untrained policy and the last evaluation counts, as in a report."""
    todo = plan(toy(), out=tmp_path)
    config = todo.searches[0].trials(todo.trials[0])[1]
    lines = [{"step": step, "progress": step / 2, "spent": 10.0 * step, "score": score}
             for step, score in enumerate((0.2, last))]  # fmt: skip
    (tmp_path / "evaluations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_json(tmp_path / "result.json", {"status": "timeout", "error": "too slow", "score": None, "seconds": 7.0})
    one = Tried.read(config, tmp_path, "score")
    assert (one.status, one.score, one.untrained, one.spent, one.seconds) == ("timeout", scored, 0.2, 10.0, 7.0)
    area = Tried.read(config, tmp_path, "auc").score
    assert area == pytest.approx((0.2 + last) / 4 + scored / 2)
