from __future__ import annotations

import threading

import pytest

from harness.errors import HarnessError
from harness.leaderboard import read_trials
from harness.tracking import Mirror, prepare_store
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_trial


@pytest.fixture
def runs(tmp_path):
    for seed in range(3):
        write_trial(tmp_path / "tiny", GRPO, seed, [0.2, 0.4])
    return tmp_path / "tiny"


def test_trials_appear_as_they_end(runs, uri):
    said = []
    mirror = Mirror(runs, uri, said.append)
    for trial in read_trials(runs)[:2]:
        mirror.add(trial.path)
    mirror.close()
    assert said == []
    experiment = client(uri).get_experiment_by_name("tiny (rules 1)").experiment_id
    assert {run.data.tags["seed"] for run in client(uri).search_runs([experiment])} == {"0", "1"}


def test_a_dead_store_costs_one_line_and_one_try(runs, monkeypatch):
    tries, said = [], []

    def dead(*_arguments, **_named):
        tries.append(1)
        raise HarnessError("MLflow store X: connection refused (runs are safe in their files)")

    monkeypatch.setattr("harness.tracking.live.sync_trials", dead)
    mirror = Mirror(runs, "http://127.0.0.1:9", said.append)
    for trial in read_trials(runs):
        mirror.add(trial.path)
    mirror.close()
    assert said == ["MLflow store X: connection refused (runs are safe in their files); the suite goes on"]
    assert len(tries) == 1


def test_a_store_that_comes_back_is_written_to_again(runs, monkeypatch):
    written = []

    def flaky(trials, *_arguments, **_named):
        if not written:
            written.append("failed")
            raise HarnessError("gone")
        written.extend(trial.seed for trial in trials)

    monkeypatch.setattr("harness.tracking.live.sync_trials", flaky)
    monkeypatch.setattr("harness.tracking.live.PAUSE", -1.0)
    mirror = Mirror(runs, "http://127.0.0.1:9", lambda _: None)
    for trial in read_trials(runs):
        mirror.add(trial.path)
    mirror.close()
    assert written == ["failed", 1, 2]


def test_a_silent_store_does_not_hold_the_suite_up(runs, monkeypatch):
    answer = threading.Event()
    monkeypatch.setattr("harness.tracking.live.sync_trials", lambda *_, **__: answer.wait(30))
    monkeypatch.setattr("harness.tracking.live.PATIENCE", 0.05)
    mirror = Mirror(runs, "http://127.0.0.1:9", lambda _: None)
    mirror.add(read_trials(runs)[0].path)  # returns at once
    mirror.close()
    assert mirror.thread.is_alive()
    answer.set()
    mirror.thread.join(5)
    assert not mirror.thread.is_alive()


def test_a_server_that_is_not_there_is_said_in_few_words(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(HarnessError) as caught:
        prepare_store("http://anna:secret@127.0.0.1:9")
    assert str(caught.value) == (
        "MLflow store http://127.0.0.1:9: no answer "
        "(runs are safe in their files; harness leaderboard --rebuild logs them later)"
    )


def test_a_search_trial_is_neither_written_nor_complained_about(tmp_path):
    said = []
    mirror = Mirror(tmp_path, "sqlite:///unused.db", said.append)
    mirror.add(tmp_path / "dapo" / "tuning" / "trial-1" / "seed-1000")  # no trial of the report is there yet
    mirror.close()
    assert said == []
    assert mirror.silent_until < 0
