"""The committed numbers, and what the runner makes of a file that nobody has seen."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from harness.conformance.run_vectors import run_case
from harness.conformance.vectors import Case, Run, default_run, read_cases
from harness.errors import UsageError
from tests.vectors.mapping import Slip, Unmapped, broken, mappers, maps, outcome
from tests.vectors.report import Line, check, totals

FILE = Path(__file__).parent / "golden.jsonl.gz"
CASES = read_cases(FILE)
METHODS = sorted({case.method for case in CASES})
KNOWN = sorted(set(METHODS) & set(mappers()))


@cache
def lines(method: str) -> tuple[Line, ...]:
    return tuple(check(case) for case in CASES if case.method == method)


@pytest.mark.parametrize("method", KNOWN)
def test_agrees_with_the_public_implementations(method):
    wrong = [f"{line.case.id}, {line.stack}: {line.reason}" for line in lines(method) if line.status == "failed"]
    assert not wrong, "\n".join(wrong)


def test_nine_in_ten_pass_and_one_in_twenty_is_set_aside():
    count = totals([line for method in METHODS for line in lines(method)])
    assert count.passing >= 0.9, count
    assert count.aside <= 0.05, count


def test_what_is_set_aside_says_why():
    for method in METHODS:
        for line in lines(method):
            if line.status in {"slip", "unmapped"}:
                assert len(line.reason.split()) >= 4, f"{line.case.id}: {line.reason!r}"


def test_every_mapping_module_can_be_used():
    assert not broken()


# -- what a mapping may not do ---------------------------------------------------------------------------------------


def example(**changes):
    [first, *_] = [case for case in CASES if case.method == "dr_grpo" and case.repo == "sail-sg/understand-r1-zero"]
    return dataclasses.replace(first, **changes)


def test_a_param_that_no_mapping_reads_makes_a_case_unmapped():
    found = outcome(example(params={"critic_type": "drgrpo", "warp": 2.0}))
    assert isinstance(found, Unmapped)
    assert "warp" in found.reason


def test_a_value_that_no_mapping_knows_makes_a_case_unmapped():
    found = outcome(example(params={"critic_type": "astrology"}))
    assert isinstance(found, Unmapped)
    assert "astrology" in found.reason


def test_a_method_that_is_not_here_is_missing_not_wrong():
    line = check(example(method="no_such_method"))
    assert (line.status, line.reason) == ("missing", "no method no-such-method here")


def test_wrong_numbers_fail_and_the_first_is_shown():
    case = example()
    advantages = list(case.expected["advantages"])
    advantages[3] += 0.5
    line = check(dataclasses.replace(case, expected={"advantages": advantages}))
    assert line.status == "failed"
    assert line.reason.startswith("advantages[3]:")
    assert "max difference 0.5" in line.reason


def test_inputs_that_are_missing_or_odd_end_no_report():
    for inputs in ({}, {"rewards": None}, {"rewards": [[1.0], [2.0]], "group": ["a"]}, {"rewards": "none"}):
        assert check(example(inputs=inputs)).status in {"failed", "unmapped"}
    assert check(example(kind="prophecy", expected={"future": 1.0})).status == "failed"


@pytest.mark.parametrize("method", KNOWN)
def test_every_mapping_answers_for_params_it_has_never_seen(method):
    case = next(case for case in CASES if case.method == method)
    stranger = dataclasses.replace(case, params={**case.params, "never_seen": object()})
    assert isinstance(outcome(stranger), Unmapped | Slip)
    assert check(dataclasses.replace(case, params={})).status in {"passed", "failed", "slip", "unmapped", "missing"}


def test_a_slug_is_mapped_once():
    with pytest.raises(ValueError, match="is mapped in"):
        maps("grpo")(lambda case: Unmapped(case.id))


# -- comparison ------------------------------------------------------------------------------------------------------


def token_case(**expected):
    inputs = {"logp": [[0.0, -1.0]], "logp_ref": [[0.0, -1.5]], "mask": [[1.0, 0.0]]}
    return Case("x", "kl", "kl", {}, "float64", {"rtol": 1e-9, "atol": 1e-10}, {}, inputs, expected)


def test_values_at_masked_tokens_do_not_count_but_gradients_do():
    run = Run("kl(beta=1.0, kind='k2')")
    assert run_case(run, token_case(token_loss=[[0.0, 9.0]])).passed
    assert not run_case(run, token_case(grad_logp=[[0.0, 9.0]])).passed


def test_expected_values_may_be_replaced_and_chosen():
    case = token_case(token_loss=[[5.0, 0.0]], grad_logp=[[0.0, 0.0]])
    run = Run("kl(beta=1.0, kind='k2')", compare=("grad_logp",))
    assert run_case(run, case).passed
    assert run_case(dataclasses.replace(run, compare=None, expect={"token_loss": [[0.0, 0.0]]}), case).passed


def test_names_that_agree_need_no_mapping():
    case = dataclasses.replace(token_case(token_loss=[[0.0, 0.0]]), params={"kind": "k1"})
    assert default_run(case, "kl(beta=2.0)", ("kind", "beta")).stack == "kl(beta=2, kind='k1')"
    with pytest.raises(UsageError, match="no parameter kind"):
        default_run(case, "token-sum", ("scale",))


def test_a_file_that_is_none_says_so(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"method": "grpo"}\n')
    with pytest.raises(UsageError, match="no field kind, expected"):
        read_cases(tmp_path / "bad.jsonl")
    (tmp_path / "worse.jsonl").write_text("not json\n")
    with pytest.raises(UsageError, match="line 1"):
        read_cases(tmp_path / "worse.jsonl")
    with pytest.raises(UsageError, match="cannot read"):
        read_cases(tmp_path / "none.jsonl")


def test_the_command_reads_plain_files_and_reports_json(tmp_path):
    case = next(case for case in CASES if case.method == "agg_token_sum")
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(dataclasses.asdict(case)) + "\n")
    command = [sys.executable, "-m", "tests.vectors", str(path), "--json"]
    ran = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["totals"]["passed"] == 1
