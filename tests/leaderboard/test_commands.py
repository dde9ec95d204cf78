from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from harness.cli import compare, leaderboard, ui
from harness.errors import HarnessError, UsageError
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A directory of runs with one suite in it."""
    root = tmp_path_factory.mktemp("runs")
    for seed in range(2):
        write_trial(root / "tiny", GRPO, seed, [0.25, 0.4 + seed / 100])
        write_trial(root / "tiny", "dr-grpo", seed, [0.25, 0.41])
    write_suite(root / "tiny", [GRPO, "dr-grpo"], 2)
    return root


def call(*arguments):
    app = typer.Typer()
    for module in (leaderboard, compare, ui):
        module.register(app)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_table_on_a_pipe_has_every_column(out):
    text = call("leaderboard", "tiny", "--out", out).stdout
    assert "tiny (rules 1): score against grpo(beta=0)" in text
    assert "waste" in text
    assert "Provisional" in text


def test_columns_are_chosen(out):
    header = call("leaderboard", "tiny", "--out", out, "--columns", "score,to target").stdout.splitlines()[1]
    assert header.split() == ["method", "score", "to", "target"]
    whole = call("leaderboard", "tiny", "--out", out, "--columns", "all").stdout
    assert "version" in whole
    assert "policy-harness 0.1.0" in whole
    assert "more columns" not in whole
    assert "more columns: --columns all" in call("leaderboard", "tiny", "--out", out).stdout
    markdown = call("leaderboard", "tiny", "--out", out, "--format", "markdown", "--columns", "score").stdout
    assert "| # | method | score |" in markdown
    latex = call("leaderboard", "tiny", "--out", out, "--format", "latex", "--columns", "rank").stdout
    assert r"\begin{tabular}{lr}" in latex


def test_target_and_reduction(out):
    text = call("leaderboard", "tiny", "--out", out, "--target", "50%", "--reduce", "iqm").stdout
    assert "50% of the gain of grpo(beta=0)" in text
    assert "score (IQM)" in text


def test_merge(out, tmp_path):
    for seed in range(2):
        write_trial(tmp_path / "theirs", "my-idea", seed, [0.25, 0.5])
    write_suite(tmp_path / "theirs", ["my-idea"], 2)
    text = call("leaderboard", "tiny", tmp_path / "theirs", "--merge", "--out", out, "--format", "csv").stdout
    assert {line.split(",")[0] for line in text.splitlines()} >= {"my-idea", "dr-grpo", GRPO}
    with pytest.raises(UsageError, match="--merge makes one board"):
        call("leaderboard", "tiny", tmp_path / "theirs", "--out", out)
    with pytest.raises(UsageError, match="--rebuild"):
        call("leaderboard", "tiny", tmp_path / "theirs", "--merge", "--rebuild", "--out", out)


def test_an_exported_folder_is_a_board(out, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_args, **_options: [])
    before = call("leaderboard", "tiny", "--out", out, "--export", tmp_path / "board", "--format", "csv").stdout
    assert call("leaderboard", tmp_path / "board", "--format", "csv").stdout == before


@pytest.mark.parametrize(
    ("form", "start"),
    [("markdown", "### tiny"), ("csv", "method,role"), ("html", "<!doctype"), ("json", "{"), ("latex", "% needs")],
)
def test_formats(out, form, start):
    assert call("leaderboard", "tiny", "--out", out, "--format", form).stdout.startswith(start)


def test_suite_by_name_file_or_directory(out, tmp_path, monkeypatch):
    file = tmp_path / "some.yaml"
    file.write_text("name: tiny\n")
    monkeypatch.chdir(tmp_path)
    texts = [call("leaderboard", name, "--out", out, "--format", "csv").stdout for name in ("tiny", file, out / "tiny")]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaderboard", "tinny"], "Did you mean 'tiny'"),
        (["leaderboard", "tiny", "--format", "htm"], "Did you mean 'html'"),
        (["leaderboard", "tiny", "--metric", "acuracy"], "Did you mean 'accuracy'"),
        (["leaderboard", "tiny", "--columns", "scoer"], "Did you mean 'score'"),
        (["leaderboard", "tiny", "--format", "csv", "--columns", "score"], "csv always has all columns"),
        (["leaderboard", "tiny", "--target", "45"], "scores are shares"),
        (["leaderboard", "tiny", "--reduce", "median"], "mean or iqm"),
        (["leaderboard", "tiny", "--baseline", "dr-gpro"], "Did you mean 'dr-grpo'"),
        (["leaderboard", "tiny", "--baseline", "untrained"], "`harness compare METHOD untrained SUITE`"),
        (["leaderboard", "nowhere.yaml"], "no suite file"),
        (["compare", GRPO, "dr-grp", "tiny"], "Did you mean 'dr-grpo'"),
        (["ui"], "no MLflow store"),
    ],
)
def test_wrong_names_are_one_line_with_the_nearest_known(out, arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        call(*arguments, "--out", out)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_is_one_line(out, tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--export .*: (File exists|Not a directory); name a folder"):
        call("leaderboard", "tiny", "--out", out, "--export", tmp_path / place)


def test_an_unknown_metric_is_told_what_there_is(out):
    with pytest.raises(UsageError, match=r"unknown metric 'xyz'\. There is score, auc, accuracy, .*TASK/MEASURE"):
        call("leaderboard", "tiny", "--out", out, "--metric", "xyz")


def test_compare(out):
    text = call("compare", "dr-grpo", GRPO, "tiny", "--out", out).stdout
    assert "nothing is claimed" in text
    assert "P(better)" in text


def test_export(out, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.leaderboard.export.save_figures", lambda *_args, **_options: [])
    call("leaderboard", "tiny", "--out", out, "--export", tmp_path / "board")
    assert (tmp_path / "board" / "leaderboard.html").is_file()
    assert (tmp_path / "board" / "trials.csv").is_file()


def test_rebuild_of_an_unreachable_server_says_so(out, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(HarnessError, match=r"MLflow store http://127.0.0.1:9"):
        call("leaderboard", "tiny", "--out", out, "--rebuild", "--tracking-uri", "http://127.0.0.1:9")


def test_nothing_heavy_is_imported():
    code = (
        "import sys, harness.cli.leaderboard, harness.cli.compare, harness.cli.ui\n"
        "heavy = {'torch', 'mlflow', 'pandas', 'scipy', 'matplotlib', 'rich.table'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "import harness.leaderboard, harness.tracking, harness.leaderboard.export, harness.leaderboard.duel\n"
        "assert 'torch' not in sys.modules and 'mlflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


PLUGIN = """
from harness import hookimpl, method


@method
class MyIdea:
    beta: float = 0.5
    alpha: float = 1.0

    @hookimpl
    def estimate_advantages(self, batch):
        return self.beta * batch.reward
"""


def test_methods_of_files_are_named_in_any_spelling(tmp_path):
    """By --plugin; and without it, as long as the file that the runs were made with is there."""
    stack, file, runs = "my-idea(alpha=2, beta=0.25)", tmp_path / "my_idea.py", tmp_path / "runs"
    file.write_text(PLUGIN)
    for seed in range(2):
        write_trial(runs / "tiny", GRPO, seed, [0.25, 0.4 + seed / 100])
        write_trial(runs / "tiny", stack, seed, [0.25, 0.41])
    write_suite(runs / "tiny", [GRPO, stack], 2)
    spelled = "my-idea(beta=0.250, alpha=2.0)"
    with pytest.raises(HarnessError, match="my-idea"):
        call("compare", spelled, GRPO, "tiny", "--out", runs)
    assert "nothing is claimed" in call("compare", spelled, GRPO, "tiny", "--out", runs, "--plugin", file).stdout
    options = ("--out", runs, "--plugin", file, "--format", "csv")
    assert stack in call("leaderboard", "tiny", "--baseline", spelled, *options).stdout
    suite = runs / "tiny" / "suite.yaml"
    suite.write_text(json.dumps(json.loads(suite.read_text()) | {"plugins": [str(file)]}))
    assert "nothing is claimed" in call("compare", spelled, GRPO, "tiny", "--out", runs).stdout
    file.unlink()
    assert "nothing is claimed" in call("compare", stack, GRPO, "tiny", "--out", runs).stdout


def test_a_suite_file_is_called_what_the_suite_it_extends_is(out, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("extends: tiny\nquestion: Which one?\n")
    assert "tiny (rules 1)" in call("leaderboard", file, "--out", out).stdout
    file.write_text("- tiny\n")
    with pytest.raises(UsageError, match="a suite is a mapping of settings"):
        call("leaderboard", file, "--out", out)


def test_what_holds_no_runs_is_told_by_what_it_is(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("no suite")
    (tmp_path / "empty").mkdir()
    (tmp_path / "results").mkdir()
    shutil.copytree(out / "tiny", tmp_path / "results" / "tiny")
    for named, said in (
        ("empty", "empty holds no runs and no board"),
        (".", ". holds no runs and no board"),
        ("results", "results holds no runs and no board; those in it do: results/tiny"),
        ("results/tinny", "no directory results/tinny. Did you mean 'results/tiny'?"),
        ("notes.md", "notes.md is neither a suite's file (.yaml) nor a directory of runs"),
        ("tinny", "no runs of 'tinny' in runs, and no suite of this name. Did you mean 'tiny'?"),
        ("tiny", "no runs of 'tiny' in runs: harness run tiny makes them; results/tiny has its reference results"),
        ("off-policy", "no runs of 'off-policy' in runs: harness run off-policy makes them"),
    ):
        with pytest.raises(UsageError) as caught:
            call("leaderboard", named)
        assert str(caught.value) == said
