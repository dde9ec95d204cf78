"""The nearest known name: swapped letters before other ones, and nothing when nothing is near."""

from __future__ import annotations

import pytest

from harness.errors import UnusablePlugin, UsageError, blame, blamed, nearest, told

METHODS = ["grpo", "gspo", "dapo", "f-grpo", "reinforce"]


@pytest.mark.parametrize(("typed", "meant"), [("gpro", "grpo"), ("grppo", "grpo"), ("dap", "dapo"), ("gsop", "gspo")])
def test_nearest(typed: str, meant: str) -> None:
    assert nearest(typed, METHODS) == f" Did you mean {meant!r}?"


def test_far_names_are_listed_not_guessed() -> None:
    assert nearest("best-of-group", METHODS) == " Known: dapo, f-grpo, grpo, gspo, reinforce."


def test_an_exception_is_told_in_one_line_with_whose_it_is() -> None:
    error = KeyError("lost")
    assert told(error) == "KeyError: 'lost'"
    assert not blamed(error)
    error.add_note("something of another library's")
    assert not blamed(error)
    blame(error, "plugin 'x' (dist 1.0), hook keep, at x.py:3")
    assert blamed(error)
    assert told(error) == "plugin 'x' (dist 1.0), hook keep, at x.py:3: KeyError: 'lost'"
    assert told(UsageError("no\nsuch thing")) == "no such thing"
    assert told(ValueError()) == "ValueError"


def test_a_plugin_that_cannot_be_used_is_a_matter_of_usage() -> None:
    assert UnusablePlugin.exit_code == UsageError.exit_code == 2


def test_far_names_among_very_many_are_not_listed() -> None:
    assert nearest("best-of-group", [f"method-{number}" for number in range(100)]) == ""
