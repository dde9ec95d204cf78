from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.host import discover
from harness.suites.run import plan
from harness.training.result import trial_key


def searches(suite, tmp_path):
    return {search.row: search for search in plan(suite, out=tmp_path).searches}


def names(search):
    return [dimension.name for dimension in search.space]


def test_every_row_has_the_shared_settings_and_its_own_ranges(toy, tmp_path):
    found = searches(toy(), tmp_path)
    assert names(found["grpo(beta=0)"]) == ["optimizer.lr", "grpo.clip"]  # beta is written, and held
    assert names(found["dapo"]) == ["optimizer.lr", "dapo.clip_low", "dapo.clip_high"]  # not its base's
    rate = found["dapo"].space[0].range
    assert (rate.low, rate.high, rate.log) == (3.16e-5, 3.16e-4, True)  # a decade around the suite's 1e-4


def test_the_published_values_come_first_and_all_rows_have_as_many(toy, tmp_path):
    found = searches(toy(), tmp_path)
    assert {len(search.candidates) for search in found.values()} == {4}
    for row, search in found.items():
        first = search.candidates[0]
        assert first.method == row
        assert first.values["optimizer.lr"] == 1e-4
        for dimension in search.space:
            assert all(dimension.range.holds(candidate.values[dimension.name]) for candidate in search.candidates)
    rates = [[candidate.values["optimizer.lr"] for candidate in search.candidates] for search in found.values()]
    assert rates[0] == rates[1] == rates[2]  # the same learning rates for every method
    assert len(set(rates[0])) == 4


def test_a_method_without_ranges_tunes_the_shared_settings(toy, tmp_path):
    suite = toy("methods=[dr-grpo]")
    assert names(searches(suite, tmp_path)["dr-grpo"]) == ["optimizer.lr"]
    bare = toy("methods=[dr-grpo]", "tuning.shared={}")
    with pytest.raises(UsageError, match="dr-grpo has nothing to search"):
        searches(bare, tmp_path)


def test_a_control_searches_what_its_base_does(toy, tmp_path):
    found = searches(toy("honesty=[placebo]"), tmp_path)
    base, control = found["grpo(beta=0)"], found["grpo(beta=0)+placebo"]
    assert [one.values for one in control.candidates] == [one.values for one in base.candidates]
    assert [one.method for one in control.candidates] == [f"{one.method}+placebo" for one in base.candidates]


def test_the_suite_says_which_shared_settings(toy, tmp_path):
    suite = toy("tuning.shared={learner.minibatches: {choices: [1, 2, 4]}, sampling.group_size: {low: 4, high: 16}}")
    search = searches(suite, tmp_path)["rloo"]
    assert names(search)[:2] == ["learner.minibatches", "sampling.group_size"]
    config = plan(suite, out=tmp_path).trials[0]
    for candidate in search.candidates[1:]:
        tried = search.trial(config, candidate, 1000)
        assert tried.learner.minibatches == candidate.values["learner.minibatches"]
        assert isinstance(tried.sampling.group_size, int)
        assert 4 <= tried.sampling.group_size <= 16
        assert tried.optimizer == config.optimizer


def test_search_trials_use_seeds_problems_and_budget_of_their_own(toy, tmp_path):
    suite = toy("tuning.seeds=2", "tuning.budget_share=0.25", "evaluation.every=0.5")
    todo = plan(suite, out=tmp_path)
    trials = todo.searches[1].trials(todo.trials[0])
    assert [(trial.tuned.number, trial.seed) for trial in trials[:3]] == [(0, 1000), (0, 1001), (1, 1000)]
    assert {(trial.evaluation.split, trial.evaluation.every, trial.budget.limit) for trial in trials} == {
        ("validation", 1.0, 5.0)
    }
    by_area = plan(toy("tuning.metric=auc", "evaluation.every=0.5"), out=tmp_path)
    assert by_area.searches[0].trials(by_area.trials[0])[0].evaluation.every == 0.5


def test_the_keys_of_the_tracks_never_meet(toy, tmp_path):
    todo = plan(toy(), out=tmp_path)
    plain, search = todo.trials[0], todo.searches[0]
    first = search.candidates[0]  # the published values: nothing but the track differs
    tuned = search.reported(plain, first, spent=10.0)
    assert (tuned.method, tuned.optimizer, tuned.seed, tuned.row) == (plain.method, plain.optimizer, 0, plain.method)
    keys = [trial_key(config, {}, {}) for config in (plain, tuned, search.reported(plain, first, spent=11.0))]
    assert keys[0] != keys[1] == keys[2]  # what the search cost changes no number


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["tuning.trials=1"], "tuning.trials"),
        (["tuning.trails=4"], "unknown key 'tuning.trails'. Did you mean 'tuning.trials'"),
        (["tuning.sampler=tpe"], "'tpe' is not 'sobol', 'halton' or 'random'|'tpe' is not sobol, halton or random"),
        (["tuning.shared={optimizer.lrr: {low: 1, high: 2}}"], "Did you mean 'optimizer.lr'"),
        (["tuning.shared={optimizer.lr: {low: 2, high: 1}}"], "to a larger one"),
        (["seeds=[0, 1000]"], "reports seeds below 1000, not 1000"),
        (["evaluation.split=validation"], "evaluation.split must be test"),
    ],
)
def test_faults_of_the_section_are_one_line(toy, sets, message):
    with pytest.raises(UsageError, match=message) as caught:
        toy(*sets)
    assert "\n" not in str(caught.value)


def test_values_that_a_setting_refuses_are_a_usage_error(toy, tmp_path):
    todo = plan(toy("tuning.shared={optimizer.lr: {low: -1, high: 1}}"), out=tmp_path)
    with pytest.raises(UsageError, match=r"tuning.shared: .* of lr"):
        todo.searches[0].trials(todo.trials[0])


def test_spelled_stacks_build(toy, tmp_path):
    from harness.host import build_stack

    for search in searches(toy("methods=['dapo+f-grpo', 'grpo+tis(cap=3)']"), tmp_path).values():
        for candidate in search.candidates:
            assert build_stack(candidate.method, discover()).canonical == candidate.method
    assert names(searches(toy("methods=['grpo+tis(cap=3)']"), tmp_path)["grpo+tis(cap=3)"]) == [
        "optimizer.lr", "grpo.clip", "grpo.beta",
    ]  # fmt: skip
