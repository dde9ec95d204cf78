"""The nearest known name: swapped letters before other ones, and nothing when nothing is near."""

from __future__ import annotations

import pytest

from harness.errors import nearest

METHODS = ["grpo", "gspo", "dapo", "f-grpo", "reinforce"]


@pytest.mark.parametrize(("typed", "meant"), [("gpro", "grpo"), ("grppo", "grpo"), ("dap", "dapo"), ("gsop", "gspo")])
def test_nearest(typed: str, meant: str) -> None:
    assert nearest(typed, METHODS) == f" Did you mean {meant!r}?"


def test_far_names_are_listed_not_guessed() -> None:
    assert nearest("best-of-group", METHODS) == " Known: dapo, f-grpo, grpo, gspo, reinforce."
