"""What bridges carry, and what they refuse by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import hookimpl, method
from harness.bridges.contract import TRL, VERL, as_stack, check, table
from harness.bridges.state import BridgeRun, BridgeState
from harness.errors import HarnessError, PluginError, UsageError
from harness.hookspecs import HOOKS

DOCS = Path(__file__).parents[2] / "docs" / "bridges.md"


@pytest.mark.parametrize("bridge", [TRL, VERL])
def test_every_hook_is_carried_or_refused_and_none_is_both(bridge):
    assert set(bridge.carried) | set(bridge.refused) == set(HOOKS)
    assert not set(bridge.carried) & set(bridge.refused)


def test_the_table_of_the_docs_is_the_code_s():
    assert table() in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["grpo", "dr-grpo+f-grpo", "gdpo", "gspo", "cispo", "raft", "rloo", "delta-l"])
def test_methods_that_only_compute_are_carried_by_trl(text):
    assert check(TRL, as_stack(text)) == ()


def test_a_hook_without_a_place_is_refused_by_name_and_the_message_says_what_to_pass():
    with pytest.raises(UsageError, match=r"trl bridge cannot carry keep, next_round of 'dapo'.*fixed size") as refused:
        check(TRL, as_stack("dapo"))
    assert str(refused.value).endswith("pass without=('keep', 'next_round')")
    assert "\n" not in str(refused.value)


def test_what_the_user_does_without_is_returned_for_the_record():
    assert check(TRL, as_stack("dapo(dynamic=False)"), ("next_round", "keep")) == ("keep", "next_round")
    assert check(VERL, as_stack("dapo"), ("train_on", "next_round", "keep")) == ("keep", "next_round", "train_on")


def test_without_names_only_what_the_stack_has():
    assert check(TRL, as_stack("grpo"), ("keep",)) == ()


def test_some_of_the_missing_hooks_are_not_enough():
    with pytest.raises(UsageError, match=r"cannot carry next_round of 'dapo'.*without=\('keep', 'next_round'\)"):
        check(TRL, as_stack("dapo"), ("keep",))


@pytest.mark.parametrize(
    ("without", "message"),
    [
        (("kep",), "no hook is named 'kep'. Did you mean 'keep'"),
        (("train_on",), "the trl bridge carries train_on"),
        ("keep", "one string; give a tuple"),
    ],
)
def test_without_is_checked(without, message):
    with pytest.raises(UsageError, match=message):
        check(TRL, as_stack("grpo"), without)


def test_needs_are_refused_by_name():
    assert check(TRL, as_stack("grpo(beta=0.04)")) == ()
    with pytest.raises(UsageError, match="verl bridge cannot give reference, which grpo needs"):
        check(VERL, as_stack("grpo"))
    with pytest.raises(UsageError, match="trl bridge cannot give greedy"):
        check(TRL, as_stack("remax(beta=0)"))


def test_a_loss_that_scores_other_tokens_is_refused():
    @method(direct=True)
    class Scores:
        @hookimpl
        def loss(self, batch, output):
            return output.logp.sum() * 0

    with pytest.raises(UsageError, match="cannot carry 'scores': its loss scores other tokens"):
        check(TRL, as_stack(Scores))


def test_a_stack_may_be_a_string_a_class_or_a_stack():
    @method
    class Mine:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward

    assert as_stack(Mine).canonical == "mine"
    built = as_stack("gspo")
    assert as_stack(built) is built
    with pytest.raises(UsageError, match="int is not decorated"):
        as_stack(int)


def state():
    return BridgeState("trl", 3, group_size=4, max_tokens=7)


def test_the_state_has_facts_and_says_what_it_has_not():
    here = state()
    assert (here.group_size, here.max_tokens, here.step, here.max_rounds) == (4, 7, 0, 1)
    with pytest.raises(AttributeError, match=r"the trl bridge has no state\.pool"):
        _ = here.pool


def test_random_numbers_are_a_function_of_seed_step_and_hook():
    one, other = state(), state()
    one.hook = other.hook = "estimate_advantages"
    assert one.generator.initial_seed() == other.generator.initial_seed()
    other.begin_step(1, 0.1)
    assert one.generator.initial_seed() != other.generator.initial_seed()


def test_rollouts_in_start_are_refused():
    with pytest.raises(HarnessError, match="cannot give rollouts in start"):
        BridgeRun(state()).rollout(["a"], 2)
    assert BridgeRun(state()).group_size == 4


def test_a_plugin_that_asks_for_more_is_blamed():
    @method
    class Asks:
        @hookimpl
        def estimate_advantages(self, batch, state):
            return state.policy.score(batch)

    from tests.batches import make_batch

    hooks = as_stack(Asks).caller(state())
    with pytest.raises((AttributeError, PluginError), match=r"the trl bridge has no state\.policy"):
        hooks.estimate_advantages(batch=make_batch())
