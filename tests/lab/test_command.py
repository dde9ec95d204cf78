"""`harness lab`: a table, a figure, MLflow rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lab.draw import Setting
from harness.lab.report import table, write
from harness.lab.study import MEASURES, REFERENCE, Study, ordered, run_study, settings_for


def _study() -> Study:
    settings = settings_for([2, 8])
    values = {
        name: {s.label: dict.fromkeys(MEASURES, worth) for s in settings}
        for name, worth in (("grpo(beta=0)", 0.5), ("rloo", 0.7), ("nothing", float("nan")))
    }
    return Study(settings, values, {"ppo": "ppo: trains a module"}, {"rloo": "its generate not simulated"}, 1.0)


def test_settings_change_one_thing_at_a_time() -> None:
    found = settings_for([2, 8])
    assert found[0] == REFERENCE == Setting(group_size=8)
    plain = Setting()
    for setting in found:
        changed = [
            name
            for name in ("group_size", "difficulty", "noise", "stale")
            if getattr(setting, name) != getattr(plain, name)
        ]
        assert len(changed) <= 1
    assert len({setting.label for setting in found}) == len(found)


def test_the_table_is_sorted_and_says_what_is_missing() -> None:
    study = _study()
    assert ordered(study)[:2] == ["rloo", "grpo(beta=0)"]
    text = table(study)
    assert "`rloo` *" in text
    assert "its generate not simulated" in text
    assert "left out: ppo: trains a module" in text


def test_files_hold_no_nan(tmp_path: Path) -> None:
    paths = write(_study(), tmp_path / "lab", "grpo(beta=0)")
    data = json.loads(paths[0].read_text(), parse_constant=pytest.fail)
    assert data["values"]["nothing"][REFERENCE.label]["step"] is None
    assert all(path.stat().st_size > 10_000 for path in paths[3:4])
    assert paths[2].read_text().splitlines()[0].startswith("method,setting,step")


@pytest.mark.slow
def test_mlflow_holds_a_run_a_method_and_is_brought_up_to_date(tmp_path: Path) -> None:
    from harness.lab.track import EXPERIMENT, log
    from harness.tracking.store import client

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    study = _study()
    files = write(study, tmp_path / "lab", "grpo(beta=0)")
    log(study, files, uri)
    study.values["rloo"][REFERENCE.label]["step"] = 0.9
    log(study, files, uri)
    store = client(uri)
    runs = store.search_runs([store.get_experiment_by_name(EXPERIMENT).experiment_id])
    by_method = {run.data.tags["method"]: run for run in runs if run.data.tags["row"] == "method"}
    assert set(by_method) == {"grpo(beta=0)", "rloo", "nothing"}
    assert by_method["rloo"].data.metrics["step"] == 0.9
    assert len(runs) == 4


def test_what_is_said_of_mlflow_can_be_opened() -> None:
    from harness.lab.track import where

    assert where("3", "http://board:5000").startswith("http://board:5000/#/experiments/3/runs")
    assert where("3", "sqlite:///runs of mine/mlflow.db") == (
        "experiment 'gradient lab'; `harness ui --tracking-uri 'sqlite:///runs of mine/mlflow.db'` opens it"
    )


@pytest.mark.slow
def test_a_study_in_worker_processes() -> None:
    study = run_study(["grpo(beta=0)", "rloo", "ppo"], [REFERENCE, Setting(group_size=2)], workers=2)
    assert list(study.values) == ["grpo(beta=0)", "rloo"]
    assert "ppo" in study.left_out
    assert study.values["rloo"][REFERENCE.label]["bias"] < 0.05


def test_methods_of_a_file_are_measured_where_none_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.cli.lab import lab

    asked: list[list[str]] = []

    def studied(chosen: list[str], *_args: object, **_options: object) -> Study:
        asked.append(chosen)
        return _study()

    monkeypatch.setattr("harness.lab.study.run_study", studied)
    file = tmp_path / "mine.py"
    file.write_text("from harness import method\n\n\n@method\nclass OfMine:\n    pass\n")
    for methods in (None, ["rloo"]):
        lab(methods, group_size="2", plugin=[file], workers=1, out=tmp_path, no_tracking=True)
    plain, named = asked
    assert {"of-mine", "grpo(beta=0)", "dr-grpo"} <= set(plain)
    assert named == ["grpo(beta=0)", "rloo"]


def test_sizes_are_checked() -> None:
    from harness.cli.lab import _sizes

    assert _sizes("8,2") == [2, 8]
    for text in ("", "a", "0", "2,1000"):
        with pytest.raises(UsageError, match="--group-size"):
            _sizes(text)
