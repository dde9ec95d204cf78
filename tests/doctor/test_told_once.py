"""A cause that stops several checks is told in full once."""

from __future__ import annotations

from harness.doctor.findings import FIX, OK, Finding, told_once


def test_a_cause_is_told_once_and_others_point_to_it():
    told: dict[str, str] = {}
    given = [Finding(FIX, "model", "no such model"), Finding(OK, "disk", "fine"), Finding(FIX, "step", "no such model")]
    shown = [told_once(found, told) for found in given]
    assert shown[:2] == given[:2]
    assert shown[2] == (FIX, "step", "not checked: it needs what 'model' says above")


def test_other_causes_and_findings_that_are_fine_stay():
    told: dict[str, str] = {}
    given = [Finding(FIX, "model", "a"), Finding(FIX, "tasks", "b"), Finding(FIX, "tasks", "b"), Finding(OK, "x", "a")]
    assert [told_once(found, told) for found in given] == given
