from __future__ import annotations

import json
import shutil

import pytest

from harness.errors import HarnessError, UsageError
from harness.leaderboard import board, read_trials
from harness.leaderboard.colours import BASELINE, looks
from harness.tracking import boards, deep_link, plain_link, sync, sync_trials
from harness.tracking.experiment import ensure_experiment
from harness.tracking.owner import owner_of
from harness.tracking.store import client
from harness.tracking.view import ORDER, VIEW_TAG, run_link
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


@pytest.fixture
def runs(tmp_path):
    root = tmp_path / "tiny"
    for seed in range(2):
        write_trial(root, GRPO, seed, [0.25, 0.4 + seed / 100])
        write_trial(root, "dapo+f-grpo(gamma=2)", seed, [0.25, 0.5 + seed / 100])
        write_trial(root, f"{GRPO}+placebo", seed, [0.25, 0.4 + seed / 100])
    write_suite(root, [GRPO, "dapo+f-grpo(gamma=2)", f"{GRPO}+placebo"], 2)
    return root


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Drawing takes seconds, and other tests do it."""
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda _board, _folder: [])


def rows(uri, experiment, kind):
    found = client(uri).search_runs([experiment], f"tags.row = '{kind}'", order_by=[f"metrics.`{ORDER}` DESC"])
    return list(found)


def test_mlflows_own_table_is_the_board(runs, uri):
    made = board(runs)
    done = sync(made, runs, uri)
    methods = rows(uri, done.experiment_id, "method")
    assert [run.info.run_name for run in methods] == [row.method for row in made.rows]
    first = methods[0].data
    assert first.metrics["score"] == pytest.approx(made.rows[0].score.mean, abs=1e-4)
    assert first.metrics["delta_low"] == pytest.approx(made.rows[0].order, abs=1e-4)
    assert len(first.metrics) <= 20
    assert first.params == {}
    assert (first.tags["method"], first.tags["seeds"], first.tags["verdict"]) == (
        "dapo+f-grpo(gamma=2)",
        "2",
        "provisional",
    )
    assert json.loads(first.tags["record"])["score"] == made.rows[0].score.mean


def test_seeds_have_the_colour_of_their_method(runs, uri):
    sync_trials(read_trials(runs), runs, uri)  # while a suite runs, nobody knows all its methods
    done = sync(board(runs), runs, uri)
    assert (done.created, done.unchanged) == (5, 6)
    colours = {
        run.data.tags["method"]: run.data.tags["mlflow.runColor"] for run in rows(uri, done.experiment_id, "method")
    }
    for run in rows(uri, done.experiment_id, "seed"):
        assert run.data.tags["mlflow.runColor"] == colours[run.data.tags["method"]]


def test_colours_are_those_of_the_figures_whatever_the_board_compares_with(runs, uri):
    for baseline in (GRPO, "dapo+f-grpo(gamma=2)"):
        made = board(runs, baseline=baseline)
        done = sync(made, runs, uri)
        drawn = {method: look.colour for method, look in looks(made.matrix.methods, baseline).items()}
        found = {
            run.data.tags["method"]: run.data.tags["mlflow.runColor"] for run in rows(uri, done.experiment_id, "method")
        }
        assert found == drawn
        assert found[baseline] == BASELINE


def test_only_method_rows_carry_score(runs, uri):
    done = sync(board(runs), runs, uri)
    seeds = rows(uri, done.experiment_id, "seed")
    assert len(seeds) == 6
    for run in seeds:
        assert "score" not in run.data.metrics
        assert run.info.status == "FINISHED"
        assert run.data.tags["seed"] in {"0", "1"}
    assert len(rows(uri, done.experiment_id, "board")) == 1


def test_experiment_opens_at_the_right_place(runs, uri):
    done = sync(board(runs), runs, uri)
    experiment = client(uri).get_experiment(done.experiment_id)
    assert experiment.name == "tiny (rules 1)"
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "score"
    note = experiment.tags["mlflow.note.content"]
    for method, mark in (("dapo+f-grpo(gamma=2)", ""), (GRPO, " (baseline)")):
        link = run_link(done.experiment_id, done.runs[f"method:{method}"])
        assert f"| [{method}]({link}){mark} |" in note
    assert done.runs["board"] in note
    view = json.loads(json.loads(experiment.tags[VIEW_TAG])["state"])
    known = {f"metrics.`{key}`" for run in rows(uri, done.experiment_id, "method") for key in run.data.metrics}
    known |= {f"tags.`{key}`" for run in rows(uri, done.experiment_id, "method") for key in run.data.tags}
    assert set(view["selectedColumns"]) <= known  # every column that the view asks for exists
    assert boards(uri) == {"tiny (rules 1)": done.experiment_id}


def test_links():
    assert deep_link("7", "http://127.0.0.1:5000/").startswith("http://127.0.0.1:5000/#/experiments/7/runs?")
    assert f"orderByKey=metrics.%60{ORDER}%60&orderByAsc=false" in plain_link("7")


def test_a_rebuild_changes_nothing(runs, uri):
    first = sync(board(runs), runs, uri)
    again = sync(board(runs), runs, uri)
    assert (again.created, again.updated, again.deleted) == (0, 0, 0)
    assert again.runs == first.runs


def test_a_changed_board_gets_new_method_rows_and_keeps_its_seed_rows(runs, uri):
    first = sync(board(runs), runs, uri)
    write_trial(runs, "rloo", 0, [0.25, 0.3])
    write_trial(runs, GRPO, 1, [0.25, 0.45])  # the same trial, with another result
    second = sync(board(runs), runs, uri)
    kept = f"key-{GRPO}-0-1"
    assert first.runs[kept] == second.runs[kept]
    assert first.runs[f"key-{GRPO}-1-1"] != second.runs[f"key-{GRPO}-1-1"]
    methods = rows(uri, second.experiment_id, "method")
    assert len(methods) == len({run.info.run_name for run in methods}) == 5
    assert len(rows(uri, second.experiment_id, "seed")) == 7
    assert len(rows(uri, second.experiment_id, "board")) == 1


def test_a_row_that_left_the_board_leaves_mlflow(runs, uri):
    sync(board(runs), runs, uri)
    shutil.rmtree(next(path for path in runs.iterdir() if path.name.startswith("dapo")))
    write_suite(runs, [GRPO], 2)
    done = sync(board(runs), runs, uri)
    assert "dapo+f-grpo(gamma=2)" not in {run.info.run_name for run in rows(uri, done.experiment_id, "method")}


def test_a_server_that_died_half_way_is_caught_up(runs, uri, monkeypatch):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    calls = iter(range(100))
    whole = MlflowClient.log_batch

    def dying(self, *arguments, **named):
        if next(calls) == 4:
            raise MlflowException("connection reset")
        return whole(self, *arguments, **named)

    monkeypatch.setattr(MlflowClient, "log_batch", dying)
    with pytest.raises(HarnessError, match=r"connection reset.*--rebuild"):
        sync(board(runs), runs, uri)
    monkeypatch.undo()
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda _board, _folder: [])
    done = sync(board(runs), runs, uri)
    assert (done.unchanged, done.updated) == (4, 1)
    seeds = rows(uri, done.experiment_id, "seed")
    assert len(seeds) == 6
    assert all(run.data.metrics["eval/score"] > 0.3 and run.info.status == "FINISHED" for run in seeds)


def test_a_growing_trial_keeps_its_run(runs, uri):
    path = write_trial(runs, "rloo", 0, [0.25, 0.3], progress=[0, 0.25], status=None)
    first = sync_trials(read_trials(runs), runs, uri)
    run = client(uri).get_run(first.runs["key-rloo-0-1"])
    assert run.info.status == "RUNNING"
    write_trial(runs, "rloo", 0, [0.25, 0.3, 0.35], progress=[0, 0.25, 1.0])
    assert path.is_dir()
    second = sync_trials(read_trials(runs), runs, uri)
    assert second.runs == first.runs
    run = client(uri).get_run(second.runs["key-rloo-0-1"])
    assert (run.info.status, run.data.metrics["eval/score"]) == ("FINISHED", 0.35)
    history = client(uri).get_metric_history(run.info.run_id, "eval/score")
    assert [(point.step, point.value) for point in history] == [(0, 0.25), (250, 0.3), (1000, 0.35)]


def test_how_a_trial_ended_is_how_its_run_ended(runs, uri):
    expected = {"failed": "FAILED", "diverged": "FAILED", "timeout": "FAILED", "interrupted": "KILLED", None: "KILLED"}
    for seed, status in enumerate(expected):
        write_trial(runs, "raft", seed, [0.25, 0.3], status=status)
    done = sync_trials([trial for trial in read_trials(runs) if trial.method == "raft"], runs, uri, live=False)
    found = [client(uri).get_run(done.runs[f"key-raft-{seed}-1"]) for seed in range(len(expected))]
    assert [run.info.status for run in found] == list(expected.values())
    assert ["error" in run.data.tags for run in found] == [True, True, True, True, False]


def test_two_folders_of_runs_never_undo_each_other(runs, uri, tmp_path):
    mine = sync(board(runs), runs, uri)
    shutil.copytree(runs, other := tmp_path / "colleague" / "tiny")
    shutil.rmtree(next(path for path in other.iterdir() if path.name.startswith("dapo")))
    write_suite(other, [GRPO], 2)
    theirs = sync(board(other), other, uri)
    assert mine.experiment_id != theirs.experiment_id
    assert set(boards(uri)) == {"tiny (rules 1)", f"tiny (rules 1, runs {owner_of(other)})"}
    assert sync(board(runs), runs, uri).created == 0
    assert sync(board(other), other, uri).created == 0


def test_two_first_users_of_a_name_get_an_experiment_each(uri, monkeypatch):
    from mlflow import MlflowClient

    store = client(uri)
    whole = MlflowClient.get_experiment_by_name
    asked = iter(range(100))

    def blind_at_first(self, name):  # both have looked before either has made it
        return None if next(asked) in {0, 1} else whole(self, name)

    monkeypatch.setattr(MlflowClient, "get_experiment_by_name", blind_at_first)
    first = ensure_experiment(store, uri, "tiny", 1, "aaaaaa")
    second = ensure_experiment(store, uri, "tiny", 1, "bbbbbb")
    assert first != second
    assert ensure_experiment(store, uri, "tiny", 1, "bbbbbb") == second


def test_the_owner_of_a_folder_outlives_its_suites(tmp_path):
    suite = tmp_path / "runs" / "tiny"
    suite.mkdir(parents=True)
    name = owner_of(suite)
    shutil.rmtree(suite)
    assert owner_of(suite) == name == owner_of(tmp_path / "runs" / "small")
    assert len(name) == 6


def test_a_row_fits_into_one_request(runs, uri, monkeypatch):
    from mlflow import MlflowClient

    write_trial(runs, "rloo", 0, [0.25, 0.3], steps=1200, metrics={f"m{i}": 1.0 for i in range(20)})
    sizes = []
    whole = MlflowClient.log_batch

    def counting(self, run_id, metrics=(), params=(), tags=(), **named):
        sizes.append(len(metrics) + len(params) + len(tags))
        return whole(self, run_id, metrics, params, tags, **named)

    monkeypatch.setattr(MlflowClient, "log_batch", counting)
    sync_trials([trial for trial in read_trials(runs) if trial.method == "rloo"], runs, uri)
    assert len(sizes) == 1
    assert 800 < sizes[0] <= 1000


def test_mlflows_global_state_is_untouched(runs, uri):
    import mlflow

    before = mlflow.get_tracking_uri()
    sync(board(runs), runs, uri)
    assert mlflow.get_tracking_uri() == before
    assert mlflow.active_run() is None


def test_a_store_that_is_no_store_is_one_line(runs, tmp_path):
    with pytest.raises(UsageError, match="no longer keeps plain files"):
        sync(board(runs), runs, str(tmp_path / "mlruns"))
    broken = tmp_path / "broken.db"
    broken.write_text("this is no database, and long enough to be seen as none" * 20)
    with pytest.raises(HarnessError, match="this is no SQLite database"):
        sync(board(runs), runs, f"sqlite:///{broken}")
