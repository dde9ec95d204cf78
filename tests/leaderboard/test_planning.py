from __future__ import annotations

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from harness.cli import power
from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard import statistics as st
from harness.leaderboard.planning import Spread, plan, reference, spreads
from tests.leaderboard.fixtures import GRPO, write_demo, write_suite, write_trial


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A directory of runs with one suite in it."""
    root = tmp_path_factory.mktemp("runs")
    write_demo(root / "tiny")
    return root


def call(*arguments):
    app = typer.Typer()
    power.register(app)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_spreads_are_those_of_the_paired_differences(out):
    shown = board(out / "tiny")
    against = shown.row(GRPO).scores
    own = {row.method: np.std(row.scores - against, ddof=1) for row in shown.rows if row.role == "method"}
    quietest, middle, noisiest = spreads(shown)
    assert quietest.deviation == pytest.approx(min(own.values()))
    assert noisiest.deviation == pytest.approx(max(own.values()))
    assert middle == Spread(f"median of {len(own)}", pytest.approx(np.median(list(own.values()))), 5)
    assert noisiest.name == f"noisiest: {max(own, key=own.get)}"


def test_spreads_need_two_seeds_in_common(tmp_path):
    for method in (GRPO, "rloo"):
        write_trial(tmp_path, method, 0, [0.2, 0.3])
    write_suite(tmp_path, ["rloo"], 2)
    with pytest.raises(UsageError, match="two ended seeds"):
        spreads(board(tmp_path))


def test_plan_is_what_the_statistics_say():
    [found] = plan([Spread("some", 0.05)], 0.03, comparisons=10)
    assert found.alone == st.seeds_needed(0.03, 0.05) == 24
    assert found.among == st.seeds_needed(0.03, 0.05, comparisons=10) > found.alone
    assert found.detectable[0] == pytest.approx(st.minimum_detectable_effect(5, 0.05, comparisons=10))
    assert list(found.detectable) == sorted(found.detectable, reverse=True)


def test_a_spread_of_two_seeds_leaves_nearly_everything_open():
    [few] = plan([Spread("some", 0.05, 2)], 0.05, comparisons=10)
    assert few.alone == 10
    assert few.alone_range == (5, 7995)
    assert few.among_range == st.seeds_range(0.05, 0.05, 2, comparisons=10)
    [more] = plan([Spread("some", 0.05, 10)], 0.05)
    assert more.alone_range == (6, 29)
    [given] = plan([Spread("as given", 0.05)], 0.05)
    assert given.alone_range is None


def test_the_command_says_how_few_seeds_are_behind_its_answer(tmp_path, out):
    for method, scores in ((GRPO, (0.30, 0.34)), ("rloo", (0.31, 0.40))):
        for seed, score in enumerate(scores):
            write_trial(tmp_path / "tiny", method, seed, [0.2, score])
    write_suite(tmp_path / "tiny", ["rloo"], 2)
    text = " ".join(call("tiny", "--effect", 0.03, "--out", tmp_path).stdout.split())
    assert "Measured on 2 seeds, the deviation leaves" in text
    assert "plan no experiment on so few" in text
    five = " ".join(call("tiny", "--effect", 0.03, "--out", out).stdout.split())
    assert "Measured on 5 seeds" in five
    assert "so few" not in five
    assert "Measured" not in call("--effect", 0.03, "--std", 0.05).stdout  # as exact as it was given


def test_command_from_runs(out):
    text = call("tiny", "--effect", 0.03, "--out", out).stdout
    assert "3.0 points of score from grpo(beta=0)" in " ".join(text.split())
    assert "among 5" in text
    assert "noisiest" in text


def test_command_from_a_given_spread():
    text = call("--effect", 0.03, "--std", 0.05).stdout
    assert "as given" in text
    assert " 24 " in text
    assert "among" not in text
    assert "among 10" in call("--effect", 0.03, "--std", 0.05, "--comparisons", 10).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--effect", 0.03], "name a suite"),
        (["--effect", 0, "--std", 0.1], "other than 0"),
        (["--effect", 0.03, "--std", 0.1, "--power", 1], "power"),
        (["tiny", "--effect", 3], "write 0.03 for 3 points"),
        (["tinny", "--effect", 0.03], "Did you mean 'tiny'"),
    ],
)
def test_usage_errors_are_one_line(out, arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        call(*arguments, "--out", out)
    assert "\n" not in str(caught.value)


def test_without_runs_the_reference_results_tell(tmp_path):
    text = " ".join(call("tiny", "--effect", 0.03, "--out", tmp_path).stdout.split())
    assert "reference results of tiny" in text
    assert "from grpo(beta=0)" in text
    kept = reference("tiny")
    wanted = [one.alone for one in plan(kept.spreads, 0.03)]
    assert f"About {wanted[1]} as the one planned comparison" in text
    with pytest.raises(UsageError, match=r"write 0\.03 for 3 points"):  # as where the suite has run
        call("tiny", "--effect", 3, "--out", tmp_path)


def test_the_reference_results_of_a_suite_file_are_those_of_its_suite(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("extends: tiny\n")
    assert "reference results of" in call(file, "--effect", 0.03, "--out", tmp_path).stdout
    with pytest.raises(UsageError, match="no suite file"):
        call(tmp_path / "tiny.yaml", "--effect", 0.03, "--out", tmp_path)


def test_without_any_data_one_line_says_what_to_run(tmp_path):
    with pytest.raises(UsageError, match=r"harness run quickstart makes them.*--std 0.05") as caught:
        call("quickstart", "--effect", 0.03, "--out", tmp_path)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="no runs of 'tiny'"):  # the reference results tell the score alone
        call("tiny", "--effect", 0.03, "--metric", "auc", "--out", tmp_path)


def test_a_reference_reads_as_its_board_does(out, tmp_path, monkeypatch):
    from harness.leaderboard import planning
    from harness.leaderboard.formats import as_json

    shown = board(out / "tiny")
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "leaderboard.json").write_text(as_json(shown))
    monkeypatch.setattr(planning, "data_path", lambda _: tmp_path)
    kept = reference("tiny")
    assert [spread.deviation for spread in kept.spreads] == pytest.approx([one.deviation for one in spreads(shown)])
    assert (kept.baseline, kept.comparisons, kept.seeds) == (GRPO, shown.comparisons, 5)
