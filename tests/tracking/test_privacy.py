from __future__ import annotations

import getpass
import json
import platform

import pytest

from harness.leaderboard import board
from harness.tracking import sync
from harness.tracking.privacy import anonymous, without_folders
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/anna/models/tiny-llama", "tiny-llama"),
        ("FileNotFoundError: '/home/anna/a b/x.json' is gone", "FileNotFoundError: 'a b/x.json' is gone"),
        ("C:\\Users\\anna\\my_method.py", "my_method.py"),
        ("~/plugins/my.py, ~anna/other.py", "my.py, other.py"),
        ("model=/srv/x/y:12", "model=y:12"),
        ("file:///home/anna/x.db", "x.db"),
        ("https://anna:secret@example.org/a/b", "https://example.org/a/b"),
        ("meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B"),
        ("train/loss is 3/4 and a / b", "train/loss is 3/4 and a / b"),
        ("CUDA/CPU", "CUDA/CPU"),
        ("", ""),
    ],
)
def test_paths_keep_their_last_part(text, expected):
    assert without_folders(text) == expected


def test_at_any_depth():
    given = {"provenance": {"host": "laptop", "cpu": "A"}, "config": {"plugins": ["/a/b/my.py"], "seed": 1, "x": None}}
    assert anonymous(given) == {
        "provenance": {"cpu": "A"},
        "config": {"plugins": ["my.py"], "seed": 1, "x": None},
    }


def test_nothing_that_is_logged_names_user_machine_or_folder(tmp_path, uri):
    root = tmp_path / "runs" / "tiny"
    places = {"host": "anna-laptop", "cpu": "model A", "packages": {"torch": "2.13.0"}}
    given = {"plugins": ["/home/anna/my_method.py"], "policy": {"model": "/home/anna/models/tiny"}}
    write_suite(root, [GRPO, "rloo"], 2, **given)
    for seed in range(2):
        for method in (GRPO, "rloo"):
            path = write_trial(root, method, seed, [0.25, 0.3], provenance=places)
            record = json.loads((path / "config.json").read_text())
            record["config"] |= given
            (path / "config.json").write_text(json.dumps(record))
            (path / "status.json").write_text(json.dumps({"host": "anna-laptop", "pid": 7}))
    failed = root / "rloo" / "seed-1" / "result.json"
    failed.write_text(json.dumps({"status": "failed", "error": "OSError: /home/anna/models/tiny is gone"}))
    write_suite(
        root, [GRPO, "rloo"], 2, plugins=["/home/anna/my_method.py"], policy={"model": "/home/anna/models/tiny"}
    )
    done = sync(board(root), root, uri)
    store = client(uri)
    said = [json.dumps(dict(store.get_experiment(done.experiment_id).tags))]
    for run_id in done.runs.values():
        run = store.get_run(run_id)
        said.append(json.dumps([run.info.run_name, run.info.user_id, run.data.tags, run.data.params]))
    secrets = ("anna", "/home", str(tmp_path), f"{getpass.getuser()}@", f"@{platform.node()}")
    for text in said:
        assert not [secret for secret in secrets if secret in text], text
        assert not any(f'"mlflow.{name}' in text for name in ("user", "source"))
    assert any('"policy.model": "tiny"' in text for text in said)
    assert any("OSError: tiny is gone" in text for text in said)
    written = [path for path in (tmp_path / "mlflow-artifacts").rglob("*") if path.is_file()]
    assert {"config.json", "leaderboard.html", "leaderboard.json", "scores.parquet"} <= {path.name for path in written}
    for path in written:
        content = path.read_bytes()
        assert not [secret for secret in secrets if secret.encode() in content], path
