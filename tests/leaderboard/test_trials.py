from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard.formats import as_csv
from harness.leaderboard.trials import read_lines, read_suite, read_trials
from tests.leaderboard.fixtures import GRPO, write_demo, write_suite, write_trial


def test_reads_what_training_wrote(tmp_path):
    write_trial(tmp_path, GRPO, 1, [0.2, 0.4])
    write_trial(tmp_path, "dr-grpo", 0, [0.2, 0.5], status=None)
    found = read_trials(tmp_path)
    assert [(t.method, t.seed, t.status, t.ended) for t in found] == [
        ("dr-grpo", 0, "unfinished", False), (GRPO, 1, "done", True),
    ]  # fmt: skip
    assert found[1].seconds == 40.0
    assert found[1].plugins[0]["name"] == "grpo"
    assert found[1].key == f"key-{GRPO}-1-1"


def test_canonical_stack_names_the_row_not_the_spelling_that_was_typed(tmp_path):
    path = write_trial(tmp_path, "dapo+f-grpo", 0, [0.2, 0.4])
    record = json.loads((path / "config.json").read_text())
    record["config"]["method"] = "f-grpo + dapo"
    (path / "config.json").write_text(json.dumps(record))
    assert read_trials(tmp_path)[0].method == "dapo+f-grpo"


def test_a_line_cut_by_a_kill_is_skipped(tmp_path):
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"step": 0}\n{"step": 1}\n{"ste')
    assert list(read_lines(file)) == [{"step": 0}, {"step": 1}]
    assert list(read_lines(tmp_path / "missing.jsonl")) == []


def test_of_a_step_that_was_written_twice_the_last_counts(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    with (path / "evaluations.jsonl").open("a") as lines:
        lines.write(json.dumps({"step": 40, "progress": 1.0, "spent": 1.0, "tasks": {}, "score": 0.9}) + "\n")
    assert [record["score"] for record in read_trials(tmp_path)[0].evaluations] == [0.2, 0.9]


def test_a_trial_that_died_before_it_wrote_anything_is_still_there(tmp_path):
    path = tmp_path / "raft" / "seed-0"
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"config": {"method": "raft", "seed": 0}, "stack": "raft"}))
    (path / "result.json").write_text(json.dumps({"status": "failed", "error": "killed"}))
    trial = read_trials(tmp_path)[0]
    assert (trial.status, trial.ended, trial.evaluations, trial.ledger) == ("failed", True, [], {})
    assert math.isnan(trial.seconds)


def test_nothing_to_read_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="no trials in"):
        read_trials(tmp_path)
    with pytest.raises(UsageError, match="no runs at"):
        read_trials(tmp_path / "nowhere")


def test_suite_beside_the_trials(tmp_path):
    assert read_suite(tmp_path) == {}
    write_suite(tmp_path, [GRPO], 5)
    assert read_suite(tmp_path)["seeds"] == [0, 1, 2, 3, 4]


def test_a_board_reads_each_file_once(tmp_path, monkeypatch):
    write_demo(tmp_path)
    for file in tmp_path.glob("*/*/result.json"):  # as runs write it
        file.write_text(json.dumps(json.loads(file.read_text()) | {"steps": 40}))
    read, opened = Counter(), Path.open

    def counting(path, *args, **options):
        read[path] += 1
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", counting)
    as_csv(board(tmp_path))
    assert read
    assert {path.name for path, times in read.items() if times > 1} == set()
    assert sum(path.name == "items.jsonl" for path in read) == 39  # all but the failed trial's
    assert not any(path.name == "samples.jsonl" for path in read)


def test_steps_and_seconds_come_from_the_smallest_file_that_has_them(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4], steps=12)
    [trial] = read_trials(tmp_path)
    assert (trial.steps, trial.seconds) == (12, 12.0)  # from metrics and timing
    ledger = json.loads((path / "ledger.json").read_text())
    (path / "ledger.json").write_text(json.dumps(ledger | {"counts": {"steps": 11}, "total": {"seconds": 7.5}}))
    [trial] = read_trials(tmp_path)
    assert (trial.steps, trial.seconds) == (11, 7.5)
    (path / "result.json").write_text(json.dumps({"status": "done", "steps": 10}))
    assert read_trials(tmp_path)[0].steps == 10


def test_texts_with_other_line_ends_are_one_record(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    odd = {"task": "math", "key": "a\u2028b\x0bc", "greedy": True, "correct_samples": 1, "samples": 2}
    (path / "items.jsonl").write_text(json.dumps(odd, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert read_trials(tmp_path)[0].answers["math"].keys == ("a\u2028b\x0bc",)
    (path / "items.jsonl").write_text(json.dumps(odd) + '\n{"task": "ma', encoding="utf-8")
    assert len(read_trials(tmp_path)[0].answers["math"].keys) == 1
