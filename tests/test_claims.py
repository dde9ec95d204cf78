"""Claims are found, run, and reported as they are."""

from __future__ import annotations

import pytest

from harness.claims import Claim, Evidence, claims, report
from harness.errors import PluginError, UsageError
from harness.host import discover

ALL = claims()


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


@pytest.mark.slow
@pytest.mark.parametrize("one", ALL, ids=[f"{one.method}-{i}" for i, one in enumerate(ALL)])
def test_every_claim_runs(one: Claim) -> None:
    found = one.evidence()
    assert found.numbers
