"""The README names what exists: every method, every suite, and only commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

from harness.cli import COMMANDS
from harness.host import discover
from harness.resources import bundled_suites

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_every_first_party_method_is_listed() -> None:
    ours = {slug for slug, entry in discover().items() if entry.distribution == "policy-harness"}
    listed = set(re.findall(r"^\| \[`([a-z0-9-]+)`\]", README, flags=re.MULTILINE))
    assert ours <= listed


def test_every_bundled_suite_is_listed() -> None:
    for name in bundled_suites():
        assert re.search(rf"^\|[^|]*`{name}`[^|]*\|", README, flags=re.MULTILINE), name


def test_commands_exist() -> None:
    used = set(re.findall(r"(?:^    |`|/bin/|&& )harness ([a-z]+)", README, flags=re.MULTILINE))
    assert {"run", "ui", "leaderboard", "methods", "explain"} <= used <= set(COMMANDS)
