from __future__ import annotations

import json
from pathlib import Path

from harness.leaderboard import board, read_trials
from harness.tracking import sync
from harness.tracking.samples import COLUMNS, MOST, sample_table
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


def write_samples(path, count=2, **more):
    records = [
        {"step": 40 * progress, "progress": progress, "task": "math", "key": f"math:{i}", "prompt": f"{i}+1=",
         "text": f"#{i + progress}", "correct": bool(progress), "tokens": 2, "truncated": False, **more}
        for progress in (0.0, 0.5, 1.0) for i in range(count)
    ]  # fmt: skip
    (path / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_the_last_evaluation_of_every_seed_comes_first_then_the_untrained_one(tmp_path):
    for seed in range(2):
        write_samples(write_trial(tmp_path, GRPO, seed, [0.2, 0.4]), answer="7", reward=1.25)
    table = sample_table(read_trials(tmp_path))
    assert tuple(table) == COLUMNS
    assert table["budget"] == ["100%"] * 4 + ["0%"] * 4
    assert table["seed"] == [0, 0, 1, 1] * 2
    assert table["completion"][:2] == ["#1.0", "#2.0"]
    assert table["gold"] == ["7"] * 8
    assert table["reward"] == [1.25] * 8


def test_trials_without_samples_or_with_old_or_long_ones(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    assert sample_table(read_trials(tmp_path)) == {}
    write_samples(path, count=150, text="x" * 9000)
    table = sample_table(read_trials(tmp_path))
    assert len(table["task"]) == MOST
    assert max(map(len, table["completion"])) == 2000
    assert set(table["gold"]) == {""}
    assert set(table["reward"]) == {None}


def test_mlflow_shows_the_table_of_a_method(tmp_path, uri, monkeypatch):
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_, **__: [])
    root = tmp_path / "tiny"
    for method in (GRPO, "rloo"):
        write_samples(write_trial(root, method, 0, [0.2, 0.4]), answer="7", reward=1.25)
    write_suite(root, [GRPO, "rloo"], 1)
    done = sync(board(root), root, uri)
    path = client(uri).download_artifacts(done.runs["method:rloo"], "samples.json", str(tmp_path))
    table = json.loads(Path(path).read_text())  # as MLflow's pages read it
    assert table["columns"] == list(COLUMNS)
    assert [row[2] for row in table["data"]][:2] == ["#1.0", "#2.0"]
    assert "samples.json" in client(uri).get_run(done.runs["method:rloo"]).data.tags["mlflow.loggedArtifacts"]
    again = sync(board(root), root, uri)
    assert (again.created, again.unchanged) == (0, 6)
