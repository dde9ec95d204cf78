"""Claims are found, run, and reported as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.claims import Claim, Evidence, claims, report
from harness.errors import PluginError, UsageError
from harness.host import discover

ALL = claims()
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"


def test_claims_are_about_methods_that_exist() -> None:
    known = {entry.slug for entry in discover().values()}
    assert {one.method for one in ALL} <= known
    assert all(one.says.endswith(".") for one in ALL)


def test_gdpo_keeps_what_grpo_collapses() -> None:
    (one,) = claims(["gdpo"])
    found = one.evidence()
    assert found.shown
    assert found.numbers["distinct under gdpo"] > found.numbers["under grpo"]


def test_unknown_methods_are_said() -> None:
    with pytest.raises(UsageError, match="Did you mean 'gdpo'"):
        claims(["gdpoo"])


def test_a_claim_that_does_not_show_is_reported() -> None:
    found = report([(Claim("x", "Is better.", lambda: Evidence(False, {})), Evidence(False, {"ours": 0.5}, "Hm"))])
    assert "| `x` | Is better. | NO | ours 0.5. Hm |" in found


@pytest.mark.parametrize("check", [lambda: 1 / 0, lambda: None])
def test_a_broken_check_names_its_claim(check) -> None:
    with pytest.raises(PluginError, match=r"claim of 'x' \(Is better\.\)"):
        Claim("x", "Is better.", check).evidence()


def test_what_is_not_checked_has_no_claim_and_is_a_method() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Not checked")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = {name for row in rows for name in re.findall("`(.+?)`", row)}
    assert names <= {entry.slug for entry in discover().values()}
    assert not names & {one.method for one in ALL}


@pytest.mark.slow
def test_the_page_has_every_claim_as_it_comes_out() -> None:
    command = [sys.executable, "tools/claims.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("one", ALL, ids=[f"{one.method}-{i}" for i, one in enumerate(ALL)])
def test_every_claim_runs(one: Claim) -> None:
    found = one.evidence()
    assert found.numbers
