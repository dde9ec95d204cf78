from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.files import read_json
from harness.leaderboard import board, read_trials
from harness.suites.run import plan
from harness.suites.tune import described, progress
from tests.tuning.conftest import TOY
from tests.tuning.fake_trials import BEST

ROOT = Path(__file__).parents[2]


def records(path):
    return {record["row"]: record for file in path.glob("*/tuning.json") if (record := read_json(file))}


def test_every_row_is_searched_then_reported_with_what_was_chosen(run):
    report, text, path = run()
    assert (len(report.searched), len(report.outcomes), report.exit_code) == (3 * 4, 3 * 2, 0)
    assert "18 of 18 trials to run" in text
    assert "rloo tuning 3/4 seed 1000" in text
    found = records(path)
    assert set(found) == {"grpo(beta=0)", "dapo", "rloo"}
    for record in found.values():
        best = max(record["trials"], key=lambda trial: trial["score"])
        assert record["chosen"]["number"] == best["number"]
        rates = [trial["values"]["optimizer.lr"] for trial in record["trials"]]
        assert best["values"]["optimizer.lr"] == min(rates, key=lambda lr: abs(lr / BEST - 1))
        assert record["cost"] == {"trials": 4, "failed": 0, "currency": "updates", "spent": 80.0, "seconds": 4.0}
        assert record["space"][0]["name"] == "optimizer.lr"
        assert record["space"][0]["published"] == 1e-4
    for trial in read_trials(path):
        chosen = found[trial.method]["chosen"]
        assert trial.config["optimizer"]["lr"] == chosen["values"]["optimizer.lr"]
        assert trial.config["method"] == chosen["stack"]
        assert trial.config["evaluation"]["split"] == "test"


def test_the_board_has_the_rows_of_the_suite_and_says_what_tuning_cost(run):
    _, _, path = run()
    shown = board(path)
    assert {row.method for row in shown.rows} == {"grpo(beta=0)", "dapo", "rloo", "untrained"}
    assert {(row.n, row.expected) for row in shown.rows} == {(2, 2)}
    assert shown.tuning.trials == 4
    assert {row.tuning.cost for row in shown.rows if row.cost} == {80.0}


def test_seeds_of_search_and_report_never_meet(run):
    _, _, path = run("tuning.seeds=2")
    searched = [read_json(file)["config"] for file in path.glob("*/tuning/*/*/config.json")]
    reported = [read_json(file)["config"] for file in path.glob("*/seed-*/config.json")]
    assert {config["seed"] for config in searched} == {1000, 1001}
    assert {config["seed"] for config in reported} == {0, 1}
    assert {config["evaluation"]["split"] for config in searched} == {"validation"}


def test_the_same_command_again_runs_nothing_and_a_new_method_only_itself(run):
    run("methods=[rloo]")
    report, _, _ = run("methods=[rloo]")
    assert (report.searched, report.outcomes, report.skipped) == ([], [], 4)
    report, _, path = run("methods=[dapo]", "seeds=3")
    assert [outcome.job.config.row for outcome in report.searched] == ["dapo"] * 4
    assert len(report.outcomes) == 1 + 3  # one more seed of the baseline, three of dapo; rloo was not asked for
    assert set(records(path)) == {"grpo(beta=0)", "dapo", "rloo"}


def test_failed_search_trials_are_spent_and_not_tried_again(run):
    report, text, path = run(runner="fails_fast")
    assert text.count("ValueError: no luck") == 9
    assert report.exit_code == 0  # a search that lost trials is a search
    for record in records(path).values():
        assert record["chosen"]["number"] == 1  # untrained, 0.2, is more than the published values got
        assert record["cost"]["failed"] == 3
        assert [trial["score"] for trial in record["trials"]] == [0.1, 0.2, 0.2, 0.2]
    report, _, _ = run(runner="by_rate")
    assert report.searched == []


def test_chosen_by_the_area_under_the_curve(run):
    """The stand-in's middle evaluation is high where its last is low: the farthest learning rate wins."""
    _, _, path = run("tuning.metric=auc", "evaluation.every=0.5")
    for record in records(path).values():
        off = {trial["number"]: abs(math.log10(trial["values"]["optimizer.lr"] / BEST)) for trial in record["trials"]}
        for trial in record["trials"]:
            last = 0.5 - off[trial["number"]] / 4
            assert trial["score"] == pytest.approx((0.2 + 2 * (0.5 - last) + last) / 4)
        assert record["chosen"]["number"] == max(off, key=off.get)


def test_a_search_that_is_stopped_goes_on(run, tmp_path, toy):
    report, _, path = run(runner="slowly", max_minutes=2.0 / 60)
    assert report.out_of_time
    assert report.outcomes == []  # nothing is reported before its search is over
    assert not records(path)
    steps = {file.parent: int(file.read_text()) for file in path.glob("*/tuning/*/*/steps")}
    assert 0 < len(steps) < 12
    todo = plan(toy(), out=tmp_path / "runs")
    ended = [progress(todo.store, todo.suite, search.row) for search in todo.searches]
    assert all(whole == 4 for _, whole in ended)
    assert sum(number for number, _ in ended) < 12
    report, _, _ = run(runner="slowly")
    assert (len(report.outcomes), report.exit_code) == (6, 0)
    assert all(int((directory / "steps").read_text()) == 20 for directory in steps)  # none began anew
    assert {record["chosen"]["number"] for record in records(path).values()} != {0}


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path):
    file = tmp_path / "toy.yaml"
    file.write_text(TOY)
    command = [sys.executable, "-m", "tests.tuning.drive", str(file), str(tmp_path / "runs"), "slowly"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    path = tmp_path / "runs" / "toy"
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(path.glob("*/tuning/*/*/result.json"))) < 3:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = {file: file.read_bytes() for file in path.glob("*/tuning/*/*/result.json")}
    assert len(before) >= 3
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert set(records(path)) == {"grpo(beta=0)", "dapo", "rloo"}
    whole = [file for file, said in before.items() if json.loads(said)["status"] == "done"]
    assert all(file.read_bytes() == before[file] for file in whole)


def test_shards_take_whole_rows(run):
    for part in (1, 2):
        report, _, path = run(shard=(part, 2))
        assert report.exit_code == 0
    assert len(records(path)) == 3
    assert len(read_trials(path)) == 6


def test_the_tracks_never_share_a_directory(run, toy, tmp_path):
    run()
    for changed in (("tuning=null",), ("tuning.trials=5",), ("tuning.seeds=2",)):
        with pytest.raises(UsageError, match="holds runs of other settings: tuning"):
            run(*changed)


def test_a_report_of_another_choice_is_refused(run):
    """As when a search trial was removed and gave another score."""
    _, _, path = run("methods=[rloo]")
    record = records(path)["rloo"]
    seed = path / "rloo" / "tuning" / f"trial-{record['chosen']['number']}" / "seed-1000"
    result = read_json(seed / "result.json")
    (seed / "result.json").write_text(json.dumps(result | {"score": 0.0}))
    with pytest.raises(UsageError, match=r"other values than its search chooses now; .*`harness clean \S+ --out"):
        run("methods=[rloo]")


def test_what_a_dry_run_tells(toy, tmp_path):
    lines = described(plan(toy(), out=tmp_path))
    assert "4 trials a row, the published values and 3 sobol points, on seed 1000 and validation" in lines[0]
    assert (
        "  dapo: optimizer.lr 3.16e-05 to 0.000316 (log), dapo.clip_low 0.1 to 0.3, dapo.clip_high 0.2 to 0.5" in lines
    )
    assert lines[-1].startswith("tuning: 12 search trials, 240 updates at most; then 6 trials of the report, 120: 3.0")
