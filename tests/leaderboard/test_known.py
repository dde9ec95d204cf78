"""A method that a board has with other parameters is named, not something else that is spelt alike."""

import pytest

from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard.duel import duel
from harness.leaderboard.known import bare, instead
from tests.leaderboard.fixtures import GRPO, write_demo


@pytest.mark.parametrize(
    ("stack", "names"),
    [
        ("grpo", "grpo"),
        ("grpo(beta=0)", "grpo"),
        ("grpo(beta=0, scale='none')+placebo", "grpo+placebo"),
        ("mine@some-dist(pairs=((1, 2), (3, 4))) + Placebo", "mine+placebo"),
    ],
)
def test_a_stack_by_its_plugins_alone(stack, names):
    assert bare(stack) == names


def test_other_parameters_come_before_other_spellings():
    known = ["gdpo", "grpo(beta=0)", "grpo(beta=0)+placebo"]
    assert instead("grpo", known) == " This board has grpo(beta=0)."
    assert instead("grpo+placebo", known) == " This board has grpo(beta=0)+placebo."
    assert instead("gdpo(eps=1)", known) == " This board has gdpo."
    assert instead("gppo", ["gdpo", "rloo"]) == " Did you mean 'gdpo'?"
    assert instead("a", ["a(x=1)", "a(x=2)"]) == " This board has a(x=1) and a(x=2)."


def test_boards_and_comparisons_say_so(tmp_path):
    write_demo(tmp_path)
    hint = r"'grpo'.*This board has grpo\(beta=0\)\.$"
    with pytest.raises(UsageError, match=hint):
        board(tmp_path, baseline="grpo")
    shown = board(tmp_path)
    with pytest.raises(UsageError, match=hint):
        shown.row("grpo")
    with pytest.raises(UsageError, match=hint):
        duel(shown, "grpo", GRPO)
