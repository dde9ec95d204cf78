"""docs/mlflow.md says what is true: its recipe runs, and what it names exists."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from harness.leaderboard import board
from harness.tracking import sync
from harness.tracking.owner import FILE
from harness.tracking.points import MOST_KEYS, MOST_POINTS
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial

PAGE = (Path(__file__).parents[2] / "docs" / "mlflow.md").read_text(encoding="utf-8")


class Wandb:
    """A stand-in that remembers."""

    def __init__(self):
        self.started, self.logged = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def init(self, **given):
        self.started.append(given)
        return self

    def define_metric(self, name, step_metric):
        assert (name, step_metric) == ("*", "spent")

    def log(self, values):
        self.logged.append(values)


def test_the_recipe_sends_every_curve(tmp_path, monkeypatch):
    for seed in range(2):
        write_trial(tmp_path / "runs" / "tiny", GRPO, seed, [0.25, 0.4])
    wandb = Wandb()
    module = types.ModuleType("wandb")
    module.init = wandb.init
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.chdir(tmp_path)
    (recipe,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(recipe, "docs/mlflow.md", "exec"), {})
    assert [given["group"] for given in wandb.started] == [GRPO] * 2
    assert len({given["id"] for given in wandb.started}) == 2
    assert all("spent" in values for values in wandb.logged)
    scores = [values["tasks/math/pass_at_1"] for values in wandb.logged if "tasks/math/pass_at_1" in values]
    assert scores == [0.25, 0.4] * 2
    assert sum("loss" in values for values in wandb.logged) == 80


def test_numbers_and_names():
    assert f"at most {MOST_POINTS} points of at most {MOST_KEYS} metrics" in PAGE
    assert f"`runs/{FILE}`" in PAGE


def test_what_it_says_of_runs_is_there(tmp_path, uri, monkeypatch):
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_, **__: [])
    root = tmp_path / "tiny"
    for seed in range(2):
        for method in (GRPO, "rloo"):
            write_trial(root, method, seed, [0.25, 0.4 + seed / 100])
    write_suite(root, [GRPO, "rloo"], 2)
    done = sync(board(root), root, uri)
    store = client(uri)
    found = {run.data.tags["row"]: run for run in store.search_runs([done.experiment_id])}
    table = dict(re.findall(r"^\| `(method|seed|board)` \| [^|]*\| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert set(table) == set(found) == {"method", "seed", "board"}
    metrics = set(re.findall(r"`(\w+)`", table["method"].split(" as metrics ")[1].split(" ...")[0]))
    (rloo,) = store.search_runs([done.experiment_id], "tags.trial_key = 'method:rloo'")
    assert metrics <= set(rloo.data.metrics)
    files = {file.path for file in store.list_artifacts(found["board"].info.run_id)}
    named = set(re.findall(r"`([\w-]+\.\w+)`", table["board"])) - {"figures.html"}  # drawn by the figures' own tests
    assert named <= files
    (better,) = re.findall(r"`(tags\.row = 'method' and [^`]*)`", PAGE)
    assert not store.search_runs([done.experiment_id], better)  # a search that MLflow understands, and nobody is better


@pytest.mark.parametrize("link", re.findall(r"\]\(([\w./-]+\.md)\)", PAGE))
def test_links(link):
    assert (Path(__file__).parents[2] / "docs" / link).is_file()
