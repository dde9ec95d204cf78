import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.suites.expand import canonical_stack, rows, slug, trials


def test_rows_are_the_baseline_the_methods_and_the_controls(suite):
    made = suite(methods=["dr-grpo", "grpo(beta=0)"], honesty=["placebo", "random-reward"])
    assert rows(made, str) == ["grpo(beta=0)", "dr-grpo", "grpo(beta=0)+placebo", "grpo(beta=0)+random-reward"]


def test_a_control_that_the_suite_lists_itself_is_not_added(suite):
    made = suite(methods=["dr-grpo+placebo(x=1)"], honesty=["placebo"])
    assert rows(made, str) == ["grpo(beta=0)", "dr-grpo+placebo(x=1)"]


def test_rows_are_canonical_and_come_once(suite):
    made = suite(methods=["a", "A", "b"])
    assert rows(made, str.lower) == ["grpo(beta=0)", "a", "b"]


def test_every_stack_that_cannot_be_built_is_named(suite):
    with pytest.raises(UsageError) as caught:
        rows(suite(methods=["dappo", "gdpo(nonsense=1)", "dr-grpo"], baseline="groo"), canonical_stack())
    assert [line.split(".")[0] for line in caught.value.lines[:2]] == [
        "unknown method 'groo'",
        "unknown method 'dappo'",
    ]
    assert "nonsense" in caught.value.lines[2]
    assert len(caught.value.lines) == 3


def test_the_parameters_of_a_stack_do_not_hide_a_control(suite):
    made = suite(methods=["dr-grpo+placebo(x=(1, (2, 3)), y='a+b')"], honesty=["placebo"])
    assert len(rows(made, str)) == 2


def test_control_rows_are_the_harness_own_whatever_is_installed_under_their_name(suite):
    def canonical(text):
        if text.endswith("+placebo"):
            raise UsageError("method 'placebo' is offered by two")
        return text

    made = suite(methods=[], honesty=["placebo", "random-reward"])
    assert rows(made, canonical)[1:] == ["grpo(beta=0)+placebo@policy-harness", "grpo(beta=0)+random-reward"]


def test_trials_go_seed_by_seed_and_share_every_setting(suite):
    made = suite(sampling__prompts=4, learner__minibatches=2)
    found = trials(made, str)
    assert [(trial.method, trial.seed) for trial in found] == [
        ("grpo(beta=0)", 0), ("dr-grpo", 0), ("grpo(beta=0)", 1), ("dr-grpo", 1),
    ]  # fmt: skip
    assert {trial.sampling.prompts for trial in found} == {4}
    assert {trial.learner.minibatches for trial in found} == {2}
    assert {trial.suite for trial in found} == {"small"}


def test_slugs_stay_readable():
    assert slug("dr-grpo") == "dr-grpo"
    assert slug("dapo+f-grpo") == "dapo+f-grpo"
    assert slug("grpo(beta=0)").startswith("grpo_beta_0-")


@given(st.lists(st.text(max_size=120), unique=True, max_size=20))
def test_slugs_are_safe_and_unique_whatever_the_case(stacks):
    slugs = [slug(stack) for stack in stacks]
    assert len({name.lower() for name in slugs}) == len(stacks)
    for name in slugs:
        assert len(name) < 100
        assert not set(name) & set('/\\:*?"<>| ()=,\0\n')
        assert name not in {"", ".", ".."}
        assert not name.startswith((".", "-"))
