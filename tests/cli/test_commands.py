import json
import re

import pytest

from harness import yaml12
from harness.cli import options
from harness.cli import run as run_module
from harness.errors import UsageError
from harness.files import write_json
from harness.resources import data_path
from harness.suites import jsonschema
from harness.suites.executor import Outcome
from harness.suites.run import Report
from harness.suites.schema import Suite
from harness.suites.store import RunDirectory
from harness.suites.worker import Job
from harness.tracking import prepare_store
from harness.training.config import BudgetConfig, TrialConfig
from tests.cli.test_main import outcome

SUITE = "name: small\nbudget: {updates: 20}\nmethods: [dr-grpo]\nseeds: 2\nhonesty: []\n"


@pytest.fixture
def runs(tmp_path):
    """A run directory with one trial done, one failed, two to come."""
    file = tmp_path / "small.yaml"
    file.write_text(SUITE)
    store = RunDirectory.of("small", tmp_path)
    store.record(Suite.load(file), ["grpo(beta=0)", "dr-grpo"])
    for seed, result in enumerate([{"status": "done", "score": 0.25}, {"status": "failed", "error": "no luck"}]):
        config = TrialConfig(suite="small", method="dr-grpo", seed=seed, budget=BudgetConfig(updates=20))
        directory = store.trial(config)
        directory.mkdir(parents=True)
        write_json(directory / "result.json", result)
        write_json(directory / "status.json", {"status": result["status"], "seconds": 60.0})
        write_json(directory / "config.json", {"config": json.loads(config.model_dump_json())})
    return tmp_path


def test_dry_run_prints_the_suite_resolved(capsys, tmp_path):
    code, out, _ = outcome(
        capsys, "run", "tiny", "--dry-run", "--budget", "200k", "--seeds", "1,3",
        "--methods", "dr-grpo,f-grpo(gamma=2)", "--set", "optimizer.lr=3e-5",
    )  # fmt: skip
    assert code == 0
    data, _ = yaml12.parse(out, "out")
    assert data["budget"] == {"compute": 200_000}
    assert data["seeds"] == [1, 3]
    assert data["methods"] == ["dr-grpo", "f-grpo(gamma=2)"]
    assert data["optimizer"]["lr"] == 3e-5
    said = [line for line in out.splitlines() if line.startswith("# ")]
    assert said == out.splitlines()[-len(said) :]  # where a terminal still shows it
    assert len(said) <= 10
    assert said[0] == "# tiny: 5 rows x 2 seeds (1, 3) = 10 trials"
    assert "dr-grpo" in said[1]
    assert said[2] == "# budget: 200,000 compute a trial, 2M in all"
    assert said[3] == "# runs go to runs/tiny"
    assert said[4] == "# time: not known yet; `harness estimate tiny` measures two steps and tells"
    file = tmp_path / "again.yaml"
    file.write_text(out)
    assert Suite.load(file).seeds == (1, 3)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "tiny", "--dry-run", "--methods", ","],
        ["clean", "small", "--yes", "--methods", " , "],
        ["lab", ",", "--no-tracking"],
        ["estimate", "tiny", "--hardware", ","],
    ],
)
def test_a_list_that_names_nothing_is_an_error(capsys, runs, monkeypatch, command):
    """Not the default, and not a run of the baseline alone."""
    monkeypatch.chdir(runs)
    extra = ["--out", str(runs)] if command[0] == "clean" else []
    code, _, err = outcome(capsys, *command, *extra)
    assert code == 2
    assert ": names no" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("sqlite:///{}/taken/mlflow.db", "MLflow store .*taken is no folder .*--no-tracking"),
        ("nonsense", "--tracking-uri nonsense: .*use sqlite:///PATH.db or a server's URL"),
    ],
)
def test_a_store_that_cannot_be_opened_is_told_before_training(tmp_path, uri, says):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UsageError, match=says):
        prepare_store(uri.format(tmp_path))


def test_runs_cannot_be_kept_inside_a_file(capsys, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "small.yaml").write_text(SUITE)
    for check in ("suites.preflight.check_suite", "suites.first_step.check_first_step", "suites.memory.said"):
        monkeypatch.setattr(f"harness.{check}", lambda *_: ())
    monkeypatch.setattr("harness.suites.executor.prepare_workers", lambda **_: None)
    monkeypatch.setattr("harness.suites.run.execute", lambda *_, **__: pytest.fail("nothing may train"))
    code, _, err = outcome(capsys, "run", str(tmp_path / "small.yaml"), "--out", str(tmp_path / "taken" / "runs"))
    assert code == 2
    assert "name a folder that can be written" in err


@pytest.mark.parametrize("command", ["status", "clean"])
def test_an_exported_board_is_no_directory_of_runs(capsys, runs, command):
    (runs / "small" / "trials.csv").write_text("method,seed\n")
    code, out, err = outcome(capsys, command, str(runs / "small"))
    assert (code, out) == (2, "")
    assert f"is an exported board, not a directory of runs: `harness leaderboard {runs / 'small'}` shows it" in err


def test_a_dry_run_knows_the_pace_of_the_trials_that_have_ended(capsys, runs):
    options = ["--dry-run", "--out", str(runs), "--workers", "2"]
    out = outcome(capsys, "run", str(runs / "small" / "suite.yaml"), *options)[1]
    said = [line for line in out.splitlines() if line.startswith("# ")]
    assert said[3] == f"# runs go to {runs / 'small'}; 2 of 4 trials have ended there"
    assert said[4] == "# time: about 60 s here, 2 at a time, at the pace of the trials there"  # 2 left, a minute each


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "4/3"], "--shard 4/3: write i/n"),
        (["--seeds", "none"], "--seeds: 'none' are no seeds"),
        (["--budget", "much"], "--budget: 'much' is no amount"),
        (["--budget", "0"], "--budget: 0 lets a trial spend nothing; write 200000, 200k or 1.5M"),
        (["--executor", "rai"], "Did you mean 'ray'"),
        (["--ray-address", "auto"], "--ray-address is for --executor ray"),
        (["--plugin", "none.py"], "--plugin none.py: no such file"),
        (["--sandbox", "none"], "'none' is not namespaces or limits"),
        (["--dry-run", "--methods", "dr-grop"], "Did you mean 'dr-grpo'"),
        (["--dry-run", "--methods", "dapo(x=1)"], "dapo"),
        (["--set", "tasks=[{task: meth}]"], "Did you mean 'math'"),
        (["--set", "policy.model=nowhere"], "nowhere"),
    ],
)
def test_faults_of_run_are_one_line_with_exit_code_2(capsys, arguments, message):
    code, _, err = outcome(capsys, "run", "tiny", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_the_committed_schema_is_current(capsys):
    assert (data_path("suites") / "schema.json").read_text() == jsonschema.schema_text()
    assert outcome(capsys, "run", "--schema")[:2] == (0, jsonschema.schema_text())


def test_the_schema_knows_every_key_of_the_bundled_suites():
    known = jsonschema.schema()["properties"]
    for file in data_path("suites").glob("*.yaml"):
        assert set(yaml12.load(file)[0]) <= set(known)


def test_status_says_what_is_done_and_failed(capsys, runs):
    code, out, _ = outcome(capsys, "status", "small", "--out", str(runs))
    assert code == 0
    assert re.search(r"dr-grpo +2 +1 done, 1 failed +0\.250", out)
    assert re.search(r"grpo\(beta=0\) +2 +2 waiting +-", out)
    assert "failed: dr-grpo seed 1: no luck" in out
    assert "1 of 4 done, about 2 min left with one worker" in out
    assert outcome(capsys, "status", str(runs / "small"))[1] == out
    assert outcome(capsys, "status", str(runs / "small.yaml"), "--out", str(runs))[1] == out


def test_clean_removes_runs_and_names_unknown_suites(capsys, runs):
    code, _, err = outcome(capsys, "clean", "smal", "--out", str(runs))
    assert code == 2
    assert "Did you mean 'small'" in err
    outcome(capsys, "clean", "small", "--methods", "dr-grpo", "--out", str(runs), "--yes")
    assert not (runs / "small" / "dr-grpo").exists()
    outcome(capsys, "clean", "small", "--out", str(runs), "--yes")
    assert not (runs / "small").exists()


def test_no_runs_at_all(tmp_path):
    with pytest.raises(UsageError, match="Run the suite first"):
        options.run_directory("tiny", tmp_path)


def test_an_interrupted_run_prints_how_to_go_on(capsys, runs, monkeypatch):
    monkeypatch.setattr("sys.argv", ["harness", "run", "small", "--set", "x=a b"])
    monkeypatch.setattr(run_module, "show_board", lambda *_: None)
    suite = Suite.load(runs / "small.yaml")
    planned = run_module_plan(suite, runs)
    job = Job(planned.trials[0], runs / "x")
    run_module.finish(planned, Report([Outcome(job, "interrupted")], signals=1), "")
    assert "interrupted; go on with: harness run small --set 'x=a b'" in capsys.readouterr().err
    run_module.finish(planned, Report([Outcome(job, "interrupted")], out_of_time=True), "")
    assert "out of time (--max-minutes); go on with" in capsys.readouterr().err
    assert Report(signals=1).exit_code == 130
    assert Report([Outcome(job, "failed")]).exit_code == 1
    assert Report([Outcome(job, "interrupted")], out_of_time=True).exit_code == 0


def run_module_plan(suite, out):
    from harness.suites.run import plan

    return plan(suite, out=out, canonical=str)
