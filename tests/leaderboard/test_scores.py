"""Exported raw data: tidy, documented, anonymous, and enough to make the board again."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.leaderboard import board, read_trials
from harness.leaderboard.export import export
from harness.leaderboard.figures import NoDataError, training_health
from harness.leaderboard.figures.series import trial_series
from harness.leaderboard.formats import as_csv, as_json, as_markdown
from harness.leaderboard.page import as_html
from harness.leaderboard.scores import items_table, scores_table
from harness.training.metrics import NAMES
from tests.leaderboard.fixtures import GRPO, PROVENANCE, TASKS, write_demo, write_json, write_suite, write_trial

ROOT = Path(__file__).parents[2]
RESULTS = sorted(folder.parent for folder in ROOT.glob("results/*/leaderboard.json"))
SECRET = {**PROVENANCE, "host": "secret-host", "user": "secret-user", "system": "Linux-secret-kernel"}


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Figures have tests of their own."""
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_args, **_options: [])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The demo, and a trial that died before it was evaluated, one that still runs, and paths in the settings."""
    root = write_demo(tmp_path_factory.mktemp("runs") / "tiny")
    path = write_trial(root, "rloo", 2, [0.2], status="failed", progress=[0.0], provenance=SECRET)
    (path / "evaluations.jsonl").unlink()
    write_trial(root, "rloo", 3, [0.2, 0.3], status=None, progress=[0.0, 0.5])
    for file in root.glob("*/*/config.json"):
        write_json(file, json.loads(file.read_text()) | {"digests": {"policy": "ab", "task": "cd"}, "semantics": 2})
    suite = json.loads((root / "suite.yaml").read_text())
    paths = {"plugins": ["/home/secret-user/idea.py"], "policy": {"model": "/home/secret-user/model"}}
    write_json(root / "suite.yaml", suite | paths)
    return root


@pytest.mark.parametrize(
    "options", [{}, {"metric": "auc"}, {"metric": "accuracy", "reduce": "iqm"}, {"baseline": "rloo"}]
)
def test_an_exported_board_is_made_again_from_its_raw_data(runs, tmp_path, options):
    made = board(runs, **options)
    export(made, tmp_path)
    again = board(tmp_path, **options)
    assert as_csv(again) == as_csv(made)
    told = [json.loads(as_json(one)) for one in (made, again)]
    assert told[0] == told[1]


def test_what_training_logged_comes_back_with_an_exported_board(runs, tmp_path):
    made = board(runs)
    export(made, tmp_path)
    again = board(tmp_path)
    assert len(pd.read_parquet(tmp_path / "metrics.parquet")) == sum(
        len(t.metrics) for t in made.matrix.trials.values()
    )
    for place, trial in made.matrix.trials.items():
        back = again.matrix.trials[place]
        assert back.metrics == trial.metrics
        assert back.metrics is not trial.metrics
    for name in ("reward", "clip_share"):
        drawn = [[values.tolist() for values in trial_series(t, name)] for t in made.matrix.of(GRPO)]
        assert drawn == [[values.tolist() for values in trial_series(t, name)] for t in again.matrix.of(GRPO)]
        assert drawn[0][0]
    assert training_health(again)


def test_trained_on_labels_of_weight_0_is_marked_and_stays_so_in_exports(tmp_path):
    for seed in range(2):
        write_trial(tmp_path / "runs", GRPO, seed, [0.2, 0.4], unweighed=[])
        write_trial(tmp_path / "runs", "awpo", seed, [0.2, 0.6], unweighed=["steps"])
    write_suite(tmp_path / "runs", ["awpo"], 2)
    made = board(tmp_path / "runs")
    export(made, tmp_path / "out")
    for shown in (made, board(tmp_path / "out")):
        assert [shown.row(name).unweighed for name in (GRPO, "awpo")] == [(), ("steps",)]
        text = as_markdown(shown)
        assert "| awpo (unweighed) |" in text
        assert "weighs 0, labels which the others did without: awpo on steps." in text
        assert json.loads(as_json(shown))["rows"][0]["unweighed"] == "steps"
        assert '<span class="mark unweighed"' in as_html(shown)


def test_an_export_without_metrics_is_read_as_before(runs, tmp_path):
    export(board(runs), tmp_path)
    (tmp_path / "metrics.parquet").unlink()
    again = board(tmp_path)
    assert again.matrix.of(GRPO)[0].metrics == []
    assert as_csv(again) == as_csv(board(runs))
    with pytest.raises(NoDataError):
        training_health(again)


def test_an_exported_board_merges_with_runs(runs, tmp_path):
    whole = board(runs)
    kept = [method for method in whole.matrix.methods if method != "dr-grpo"]
    part = tmp_path / "part"
    for trial in read_trials(runs):
        if trial.method in kept:
            (part / trial.path.parent.name).mkdir(parents=True, exist_ok=True)
            (part / trial.path.parent.name / trial.path.name).symlink_to(trial.path)
    (part / "suite.yaml").symlink_to(runs / "suite.yaml")
    export(whole, tmp_path / "exported")
    assert as_csv(board([part, tmp_path / "exported"])) == as_csv(whole)


def test_a_row_for_each_trial_evaluation_and_task(runs):
    made = board(runs)
    table = scores_table(made)
    trials = made.matrix.trials.values()
    assert len(table) == sum(max(1, len(TASKS) * len(trial.evaluations)) for trial in trials)
    key = ["method", "seed", "evaluation", "task"]
    assert not table.duplicated(key).any()
    last = table[table["last"].eq(True) & (table["status"] == "done")]
    means = last.groupby(["method", "seed"], observed=True)["pass_at_1"].mean()
    assert means["dr-grpo"].mean() == pytest.approx(made.row("dr-grpo").score.mean)
    died = table[(table["method"] == "rloo") & (table["seed"] == 2)]
    assert died["status"].tolist() == ["failed"]
    assert died["pass_at_1"].isna().all()


def test_items_give_the_evaluation_error(runs):
    made = board(runs)
    items = items_table(made)
    share = items.assign(share=items["correct"] / items["samples"])
    by_item = share[share["method"] == GRPO].groupby(["task", "key"], observed=True)["share"].mean()
    errors = [by_item[task].std(ddof=1) / math.sqrt(len(by_item[task])) for task in TASKS]
    assert np.hypot(*errors) / 2 == pytest.approx(made.row(GRPO).evaluation_error)


def test_nothing_names_a_user_a_machine_or_a_path(runs, tmp_path):
    for path in export(board(runs), tmp_path):
        raw = path.read_bytes()
        for word in (b"secret", str(runs).encode()):
            assert word not in raw, (path.name, word)
    for name in ("scores.parquet", "items.parquet", "metrics.parquet"):
        text = pd.read_parquet(tmp_path / name).to_csv()
        assert "secret" not in text
        assert str(runs) not in text
    assert json.loads((tmp_path / "provenance.json").read_text())[0]["cpu"] == "model A"


def test_every_column_is_documented(runs):
    page = (ROOT / "docs" / "scores.md").read_text(encoding="utf-8")
    scores, rest = page.split("## items.parquet")
    items, metrics = rest.split("## metrics.parquet")
    assert set(NAMES) <= set(re.findall(r"^\| `(\w+)` \|", metrics, re.MULTILINE))
    for table, text in ((scores_table(board(runs)), scores), (items_table(board(runs)), items)):
        for name in table.columns:
            shown = "charge_*" if name.startswith("charge_") else "count_*" if name.startswith("count_") else name
            assert f"`{shown}`" in text, name


def test_a_board_without_results_exports(tmp_path):
    write_trial(tmp_path / "runs", GRPO, 0, [], status=None)
    write_suite(tmp_path / "runs", [GRPO], 1)
    export(board(tmp_path / "runs"), tmp_path / "out")
    assert board(tmp_path / "out").row(GRPO).n == 0


@pytest.mark.parametrize("folder", RESULTS, ids=lambda folder: folder.name)
def test_the_committed_boards_follow_from_the_committed_raw_data(folder):
    told = json.loads((folder / "leaderboard.json").read_text())
    made = json.loads(as_json(board(folder)))
    unknown = (
        set() if (folder / "scores.parquet").is_file() else {"inert", "experimental", "versions", "evaluation_error"}
    )
    assert [row["method"] for row in made["rows"]] == [row["method"] for row in told["rows"]]
    for row, old in zip(made["rows"], told["rows"], strict=True):
        for name in (row.keys() & old.keys()) - unknown:
            value = old[name]
            expected = pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value
            if name == "scores":
                expected = pytest.approx([math.nan if x is None else x for x in value], nan_ok=True)
                row[name] = [math.nan if x is None else x for x in row[name]]
            if name == "seconds" and value is not None:  # older boards count them by the stages
                expected = pytest.approx(value, rel=0.01)
            assert row[name] == expected, (row["method"], name)


def test_there_are_committed_boards():
    assert {"tiny", "smollm2"} <= {folder.name for folder in RESULTS}
