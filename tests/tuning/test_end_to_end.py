"""The track of equal tuning with real training, on a suite of seconds."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from harness.files import read_json
from harness.leaderboard import board, read_trials
from harness.leaderboard.trials import read_lines
from harness.suites.run import execute, plan
from harness.suites.schema import Suite
from harness.suites.stale import Present
from harness.tasks.load import load_task

TOY = """\
name: toy
tasks: [{task: math}]
sampling: {prompts: 4, group_size: 4, max_tokens: 8}
learner: {minibatches: 2}
optimizer: {lr: 1e-4}
budget: {updates: 4}
evaluation: {problems: 6, samples: 1}
baseline: grpo(beta=0)
methods: [dr-grpo]
seeds: 1
honesty: [placebo]
tuning: {trials: 2}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The suite as it ran, and what a second call of the same had to do."""
    root = tmp_path_factory.mktemp("toy")
    (root / "toy.yaml").write_text(TOY)
    suite = Suite.load(root / "toy.yaml")
    reports = []
    for _ in range(2):
        todo = plan(suite, out=root / "runs")
        reports.append(execute(todo, workers=2, console=Console(file=io.StringIO()), present=Present(suite)))
    return todo.store.path, *reports


@pytest.mark.timeout(600)
def test_every_row_is_tuned_and_reported(runs):
    path, report, again = runs
    assert [outcome.error for outcome in (*report.searched, *report.outcomes)] == [None] * 9
    assert (len(report.searched), len(report.outcomes), report.exit_code) == (3 * 2, 3, 0)
    assert (again.searched, again.outcomes, again.skipped) == ([], [], 3)
    shown = board(path)
    assert {row.method for row in shown.rows} == {"grpo(beta=0)", "dr-grpo", "grpo(beta=0)+placebo", "untrained"}
    assert shown.tuning.trials == 2
    assert {row.tuning.cost for row in shown.rows if row.cost} == {8.0}
    assert not shown.warnings  # the placebo chose what its base chose, and equals it
    for trial in read_trials(path):
        record = read_json(trial.path.parent / "tuning.json")
        assert trial.config["optimizer"]["lr"] == record["chosen"]["values"]["optimizer.lr"]
        assert trial.record["tuning"] == {"trials": 2, "spent": record["cost"]["spent"]}


def test_search_never_sees_a_problem_or_a_seed_of_the_report(runs):
    path, _, _ = runs
    math = load_task("math")
    keys = {split: {problem.key for problem in math.problems(split)} for split in ("validation", "test")}
    assert not keys["validation"] & keys["test"]
    searched = sorted(path.glob("*/tuning/trial-*/seed-*"))
    reported = sorted(path.glob("*/seed-*"))
    assert (len(searched), len(reported)) == (6, 3)
    for split, directories in (("validation", searched), ("test", reported)):
        for directory in directories:
            asked = {item["key"] for name in ("items", "untrained") for item in read_lines(directory / f"{name}.jsonl")}
            shown = {sample["key"] for sample in read_lines(directory / "samples.jsonl")}
            assert len(asked) == 6
            assert asked | shown <= keys[split]
    seeds = [{read_json(one / "config.json")["config"]["seed"] for one in found} for found in (searched, reported)]
    assert seeds == [{1000}, {0}]


def test_tuning_json_says_what_was_tried_and_what_it_cost(runs):
    path, _, _ = runs
    record = json.loads((path / "dr-grpo" / "tuning.json").read_text())
    assert [trial["number"] for trial in record["trials"]] == [0, 1]
    assert record["trials"][0]["values"] == {"optimizer.lr": 1e-4}
    assert record["chosen"]["number"] == max(range(2), key=lambda number: record["trials"][number]["score"])
    for trial in record["trials"]:
        [(seed, told)] = trial["seeds"].items()
        result = read_json(path / "dr-grpo" / "tuning" / f"trial-{trial['number']}" / f"seed-{seed}" / "result.json")
        assert (told["status"], told["score"], told["spent"]) == ("done", result["score"], 4)
