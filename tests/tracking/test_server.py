"""Against a real MLflow server on this machine: two users at once, and a server that dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.leaderboard import board
from harness.tracking import boards, default_uri, sync
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial
from tests.tracking.conftest import MlflowServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SYNC = """
import sys
from pathlib import Path
from harness.leaderboard import board
from harness.tracking import sync
sync(board(Path(sys.argv[1])), Path(sys.argv[1]), sys.argv[2])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with MlflowServer(tmp_path_factory.mktemp("server")) as running:
        yield running.address


def write_small(root: Path, suite: str, seeds: int = 5) -> Path:
    for seed in range(seeds):
        for method, final in ((GRPO, 0.4), ("dr-grpo", 0.41), ("rloo", 0.39)):
            write_trial(root / suite, method, seed, [0.25, final + seed / 100], suite=suite)
    write_suite(root / suite, [GRPO, "dr-grpo", "rloo"], seeds, name=suite)
    return root / suite


def test_two_writers_at_once_lose_nothing(server, tmp_path):
    suites = [write_small(tmp_path, name) for name in ("left", "right")]
    writers = [subprocess.Popen([sys.executable, "-c", SYNC, str(suite), server]) for suite in suites]
    assert [writer.wait(timeout=600) for writer in writers] == [0, 0]
    store = client(server)
    for name in ("left", "right"):
        experiment = store.get_experiment_by_name(f"{name} (rules 1)").experiment_id
        assert kinds(store, experiment) == {"board": 1, "method": 4, "seed": 15}
        assert all(run.info.status == "FINISHED" for run in store.search_runs([experiment], max_results=1000))


def test_a_new_store_survives_several_first_uses(tmp_path):
    uri = default_uri(tmp_path)
    code = f"from harness.tracking import prepare_store; prepare_store({uri!r})"
    users = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [user.wait(timeout=600) for user in users] == [0] * 4


def kinds(store, experiment):
    found = [run.data.tags["row"] for run in store.search_runs([experiment], max_results=1000)]
    return {kind: found.count(kind) for kind in sorted(set(found))}


def test_two_users_of_one_suite_keep_their_own_boards(server, tmp_path):
    suites = [write_small(tmp_path / user, "shared") for user in ("one", "two")]
    writers = [subprocess.Popen([sys.executable, "-c", SYNC, str(suite), server]) for suite in suites]
    assert [writer.wait(timeout=600) for writer in writers] == [0, 0]
    found = {name: number for name, number in boards(server).items() if name.startswith("shared ")}
    assert len(found) == 2
    for experiment in found.values():
        assert kinds(client(server), experiment) == {"board": 1, "method": 4, "seed": 15}


def test_a_server_that_dies_half_way_loses_nothing(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_, **__: [])
    suite = write_small(tmp_path, "mortal")
    whole, calls = MlflowClient.set_terminated, []
    with MlflowServer(tmp_path / "store") as server:

        def killing(self, *arguments, **named):
            calls.append(arguments)
            if len(calls) == 6:
                server.kill()
            return whole(self, *arguments, **named)

        monkeypatch.setattr(MlflowClient, "set_terminated", killing)
        with pytest.raises(HarnessError, match=r"^MLflow store http://[^ ]*: .*runs are safe in their files"):
            sync(board(suite), suite, server.address)
        monkeypatch.setattr(MlflowClient, "set_terminated", whole)
        server.start()
        done = sync(board(suite), suite, server.address)
        assert done.unchanged >= 5
        assert kinds(client(server.address), done.experiment_id) == {"board": 1, "method": 4, "seed": 15}
        runs = client(server.address).search_runs([done.experiment_id], max_results=1000)
        assert {run.info.status for run in runs} == {"FINISHED"}
        for run in runs:
            if run.data.tags["row"] == "seed":
                history = client(server.address).get_metric_history(run.info.run_id, "eval/score")
                assert [point.step for point in history] == [0, 1000]
        again = sync(board(suite), suite, server.address)
        assert (again.created, again.updated, again.deleted) == (0, 0, 0)
