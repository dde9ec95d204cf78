import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from harness import cli
from harness.errors import UsageError, blame

HEAVY = ("torch", "mlflow", "transformers", "pandas", "scipy", "lm_eval", "harness.suites", "harness.training")


def outcome(capsys, *arguments):
    """(exit code, stdout, stderr) of one command in this process."""
    with pytest.raises(SystemExit) as caught:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return caught.value.code, out, err


@pytest.mark.parametrize("arguments", [["--help"], ["methods"], ["--version"]])
def test_light_commands_import_nothing_heavy(arguments):
    code = (
        "import sys, harness.cli as c\n"
        f"try: c.main({arguments!r})\n"
        "except SystemExit as e: assert not e.code, e.code\n"
        f"bad = [m for m in {HEAVY!r} if m in sys.modules]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_every_module_with_a_command_is_in_the_table():
    names = {file.stem for file in Path(cli.__file__).parent.glob("[a-z]*.py") if "def register(" in file.read_text()}
    assert names <= set(cli.COMMANDS)
    for name in names:
        assert callable(importlib.import_module(f"harness.cli.{name}").register)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rum"], "No such command 'rum'"),
        (["run", "--fast"], "No such option"),
        (["run", "tinny"], "Did you mean 'tiny'"),
        (["run"], "which suite? Bundled: "),
        (["run", "tiny", "--workers", "x"], "--workers"),
        (
            ["compare", "a"],
            "Missing argument 'B'; usage: harness compare [OPTIONS] A B suite, `harness compare --help`",
        ),
        (["explain", "a", "b"], "usage: harness explain [OPTIONS] stack"),
    ],
)
def test_usage_errors_are_one_line_with_exit_code_2(capsys, arguments, message):
    code, _, err = outcome(capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_an_exception_of_a_plugin_says_whose_it_is(capsys, monkeypatch):
    def broken():
        error = ValueError("two\nlines")
        blame(error, "plugin 'my-idea' (my_idea), hook keep, at my_idea.py:3")
        raise error

    monkeypatch.setattr(cli, "app", broken)
    code, _, err = outcome(capsys, "status", "tiny")
    assert code == 1
    place = "plugin 'my-idea' (my_idea), hook keep, at my_idea.py:3"
    assert err == f"harness: {place}: ValueError: two lines; --debug shows where\n"


def test_no_arguments_show_the_help_and_no_fault(capsys):
    code, out, err = outcome(capsys)
    assert code == 2
    assert "leaderboard" in out + err
    assert "harness:" not in err


def test_an_unexpected_error_is_one_line_unless_debugged(capsys, monkeypatch):
    def broken():
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(cli, "app", broken)
    code, _, err = outcome(capsys, "status", "tiny")
    assert code == 1
    assert err.count("\n") == 1
    assert "RuntimeError: two lines" in err
    with pytest.raises(RuntimeError):
        cli.main(["--debug", "status", "tiny"])


def test_debug_shows_the_traceback_of_user_errors():
    with pytest.raises(UsageError):
        cli.main(["run", "tinny", "--debug"])


def test_interrupt_gives_130(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert outcome(capsys, "run")[0] == 130


def test_every_fault_of_a_suite_file_is_a_line(capsys, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("name: bad\nbudget: {compute: -1}\nmethds: [dapo]\n")
    code, out, err = outcome(capsys, "run", str(file), "--dry-run")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"harness: {file}:2: budget.compute must be more than 0, not -1",
        f"harness: {file}:3: unknown key 'methds'. Did you mean 'methods'?",
    ]
