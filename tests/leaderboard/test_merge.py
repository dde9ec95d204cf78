"""Boards of several directories."""

from __future__ import annotations

import json
import shutil

import pytest

from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard.formats import as_csv
from tests.leaderboard.fixtures import GRPO, write_json, write_suite, write_trial

BASE = [0.40, 0.42, 0.38, 0.41, 0.39]


def write_part(root, rows, **settings):
    """A directory of runs: method -> final scores by seed."""
    for method, finals in rows.items():
        for seed, final in enumerate(finals):
            write_trial(root, method, seed, [0.25, final])
    write_suite(root, list(rows), len(BASE), **settings)
    return root


@pytest.fixture
def parts(tmp_path):
    """Mine, a colleague's with a method of their own and the same baseline, and both in one directory."""
    mine = write_part(tmp_path / "mine", {GRPO: BASE, "dapo": [b + 0.05 for b in BASE]})
    theirs = write_part(tmp_path / "theirs", {GRPO: BASE, "my-idea": [b + 0.02 for b in BASE]})
    whole = write_part(
        tmp_path / "whole", {GRPO: BASE, "dapo": [b + 0.05 for b in BASE], "my-idea": [b + 0.02 for b in BASE]}
    )
    return mine, theirs, whole


def change(path, **values):
    """Change a JSON file at its top."""
    write_json(path, json.loads(path.read_text()) | values)


def refused(parts):
    """What a merge is refused with, one line that names both directories."""
    with pytest.raises(UsageError) as caught:
        board(parts[:2])
    text = str(caught.value)
    assert "\n" not in text
    assert str(parts[0]) in text
    assert str(parts[1]) in text
    return text


def test_a_merged_board_is_that_of_one_directory_with_all_trials(parts):
    mine, theirs, whole = parts
    merged = board([mine, theirs])
    assert as_csv(merged) == as_csv(board(whole))
    assert as_csv(board([theirs, mine])) == as_csv(board(whole))
    assert merged.comparisons == 2
    assert merged.sources == (str(mine), str(theirs))
    assert board(whole).sources == ()


def test_a_trial_that_lies_in_both_is_taken_once(parts):
    mine, theirs, whole = parts
    shutil.copytree(mine / "dapo", theirs / "dapo")
    assert as_csv(board([mine, theirs])) == as_csv(board(whole))
    assert as_csv(board([mine, mine])) == as_csv(board(mine))


def test_an_unfinished_copy_gives_way_to_the_one_that_ended(parts):
    mine, theirs, whole = parts
    (theirs / "grpo_beta_0_" / "seed-0" / "result.json").unlink()
    assert as_csv(board([mine, theirs])) == as_csv(board(whole))


def test_two_different_results_are_refused_with_both_paths(parts):
    path = write_trial(parts[1], GRPO, 3, [0.25, 0.3])
    text = refused(parts)
    assert f"{GRPO} seed 3 has two different results" in text
    assert str(path) in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rules": 2}, "rules: 1 there and 2 here"),
        ({"name": "other"}, "suite: tiny there and other here"),
        ({"optimizer": {"lr": 3e-5}}, "optimizer.lr is None there and 3e-05 here"),
        ({"budget": {"compute": 5.0}}, "budget.compute is 1200000.0 there and 5.0 here"),
        ({"tuning": {"trials": 8}}, "published defaults there and tuned, 8 trials here"),
    ],
)
def test_other_suites_rules_settings_and_tracks_are_refused(parts, settings, said):
    write_suite(parts[1], [GRPO, "my-idea"], 5, **settings)
    if "rules" in settings:
        for file in parts[1].glob("*/*/config.json"):
            record = json.loads(file.read_text())
            record["config"]["rules"] = settings["rules"]
            write_json(file, record)
    assert said in refused(parts)


def test_tuning_budgets_must_be_equal(parts):
    write_suite(parts[0], [GRPO, "dapo"], 5, tuning={"trials": 4})
    write_suite(parts[1], [GRPO, "my-idea"], 5, tuning={"trials": 8})
    assert "tuned, 4 trials there and tuned, 8 trials here" in refused(parts)


def test_searches_of_the_same_size_but_other_kinds_are_refused(parts):
    write_suite(parts[0], [GRPO, "dapo"], 5, tuning={"trials": 4, "budget": {"compute": 5}, "cost": 20})
    write_suite(parts[1], [GRPO, "my-idea"], 5, tuning={"trials": 4, "budget": {"compute": 5}, "cost": 19})
    assert board(parts[:2]).tuning.trials == 4
    write_suite(parts[1], [GRPO, "my-idea"], 5, tuning={"trials": 4, "budget": {"compute": 9}})
    assert "tuning.budget.compute is 5 there and 9 here" in refused(parts)


def test_what_adds_trials_or_gives_them_up_may_differ(parts):
    mine, theirs, _ = parts
    write_suite(
        theirs, [GRPO, "my-idea"], [0, 1, 2, 3, 4, 7], question="?", limits={"seconds": 5}, verifier={"flip": 0}
    )
    assert board([mine, theirs]).matrix.seeds == (0, 1, 2, 3, 4, 7)


@pytest.mark.parametrize(
    ("field", "mine", "theirs"),
    [("semantics", 1, 2), ("digests", {"policy": "a"}, {"policy": "b"})],
)
def test_other_training_code_data_or_weights_are_refused(parts, field, mine, theirs):
    for root, value in zip(parts, (mine, theirs), strict=False):
        for file in root.glob("*/*/config.json"):
            change(file, **{field: value})
    said = refused(parts)
    assert field.rstrip("s") in said
    assert "{" not in said  # what the digests are helps nobody


def test_one_method_of_two_sources_is_refused(parts):
    for file in parts[1].glob("grpo*/*/config.json"):
        record = json.loads(file.read_text())
        record["spec"]["plugins"][0]["digest"] = "ff"
        write_json(file, record)
    assert f"the plugins of {GRPO} have other sources" in refused(parts)
