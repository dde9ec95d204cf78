from __future__ import annotations

import io
import json

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from harness.cli import compare
from harness.errors import UsageError
from harness.leaderboard import board, duel_text
from harness.leaderboard.duel import duel
from harness.leaderboard.scores import items_table, scores_table
from tests.leaderboard.fixtures import GRPO, write_lines, write_suite, write_trial

# greedy verdicts on four items, untrained, then of each method: one item gained, one lost, in both seeds
UNTRAINED = [False, False, True, False]
VERDICTS = {GRPO: [False, True, True, False], "rloo": [True, True, False, False]}


def write_items(path, verdicts, text=None):
    write_lines(path, [
        {"task": task, "key": f"{task}:{number}", "greedy": right, "correct_samples": 0, "samples": 2}
        | ({} if text is None else {"text": f"{text} {number}\nend"})
        for task in ("math", "code") for number, right in enumerate(verdicts)
    ])  # fmt: skip


@pytest.fixture
def runs(tmp_path):
    """Two methods, two seeds, two tasks, with answers."""
    root = tmp_path / "runs" / "tiny"
    for method, verdicts in VERDICTS.items():
        for seed in range(2):
            directory = write_trial(root, method, seed, [0.25, 0.4 + (0.1 + seed / 50) * (method == "rloo")])
            write_items(directory / "items.jsonl", verdicts, method)
            write_items(directory / "untrained.jsonl", UNTRAINED, "before")
    write_suite(root, list(VERDICTS), 2)
    return root


def call(*arguments):
    app = typer.Typer()
    compare.register(app)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_items_newly_solved_and_newly_lost(runs):
    found = duel(board(runs), "rloo", GRPO, problems=lambda _, key: {"prompt": f"what is {key}?", "gold": "7"}).items
    assert (found.seeds, found.asked, found.solved, found.lost) == (2, 8, 2, 2)
    assert found.tasks == {"math": (1, 1), "code": (1, 1)}
    assert [(one.key, one.seeds) for one in found.newly_solved] == [("code:0", 2), ("math:0", 2)]
    assert [one.key for one in found.newly_lost] == ["code:2", "math:2"]
    first = found.newly_solved[0]
    assert (first.first, first.second) == ("rloo 0\nend", f"{GRPO} 0\nend")
    assert (first.prompt, first.gold) == ("what is code:0?", "7")


def test_turned_round_every_number_changes_its_sign(runs):
    one, two = duel(board(runs), "rloo", GRPO), duel(board(runs), GRPO, "rloo")
    assert one.difference.interval.mean == pytest.approx(-two.difference.interval.mean) == pytest.approx(0.11)
    assert (one.items.solved, one.items.newly_solved[0].key) == (two.items.lost, two.items.newly_lost[0].key)
    assert one.p_better == pytest.approx(1 - two.p_better)


@pytest.mark.parametrize("sides", [(GRPO, "untrained"), ("untrained", GRPO)])
def test_the_untrained_policy_is_a_side_like_any_other(runs, sides):
    found = duel(board(runs), *sides)
    assert abs(found.difference.interval.mean) == pytest.approx(0.15)
    assert found.items.solved + found.items.lost == 2
    changed = (*found.items.newly_solved, *found.items.newly_lost)
    assert {one.key for one in changed} == {"math:1", "code:1"}
    assert {one.first for one in changed} | {one.second for one in changed} == {f"{GRPO} 1\nend", "before 1\nend"}
    [spent] = [line for line in found.lines if line.label == "budget spent"]
    assert "-" in {spent.first, spent.second}


def test_trials_without_answers_say_so(runs):
    for path in runs.glob("rloo/*/items.jsonl"):
        write_items(path, VERDICTS["rloo"])
    found = duel(board(runs), "rloo", GRPO)
    assert found.items.solved == 2
    assert any("before answers were kept" in note for note in found.notes)
    for path in runs.glob("*/*/untrained.jsonl"):
        path.unlink()
    found = duel(board(runs), "rloo", "untrained")
    assert found.items is None
    assert any("older trials lack" in note for note in found.notes)


def test_an_export_tells_which_items_changed_but_not_the_answers(runs, tmp_path):
    made = board(runs)
    folder = tmp_path / "exported"
    folder.mkdir()
    scores_table(made).to_parquet(folder / "scores.parquet", index=False)
    items_table(made).to_parquet(folder / "items.parquet", index=False)
    whole, found = duel(made, "rloo", GRPO), duel(board(folder, baseline=GRPO), "rloo", GRPO)
    assert (found.items.asked, found.items.solved, found.items.lost) == (8, whole.items.solved, whole.items.lost)
    assert found.items.tasks == whole.items.tasks
    assert [one.key for one in found.items.newly_solved] == [one.key for one in whole.items.newly_solved]
    assert "an export has no answers to show: name the directory of the runs to read them" in found.notes
    found = duel(board(folder, baseline=GRPO), "rloo", "untrained")
    assert found.items is None
    assert any("`untrained.jsonl`, which an export lacks" in note for note in found.notes)


def test_items_of_a_trial_that_goes_on_do_not_count(runs):
    (runs / "rloo" / "seed-1" / "result.json").unlink()
    assert duel(board(runs), "rloo", GRPO).items.seeds == 1


def test_one_screen(tmp_path):
    """80 x 40, whatever the names, the number of tasks and the length of texts."""
    root, long = tmp_path / "tiny", "dapo+f-grpo(gamma=2)+some-other-long-name(alpha=0.25)"
    scores = {f"task-{number}": [0.2, 0.3 + number / 50] for number in range(9)}
    for method in (GRPO, long):
        for seed in range(2):
            gain = 0.1 * (method == long)
            curve = {task: [a, b + gain * (task != "task-0")] for task, (a, b) in scores.items()}
            directory = write_trial(root, method, seed, curve)
            write_items(directory / "items.jsonl", [method == long] * 3 + [method != long] * 3, "word " * 40)
    write_suite(root, [GRPO, long], 2)
    found = duel(board(root), long, GRPO, problems=lambda *_: {"prompt": "a long\nquestion " * 30, "gold": "1 " * 99})
    out = io.StringIO()
    Console(file=out, width=80, highlight=False).print(duel_text.as_table(found))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "and 5 more tasks that differ less" in out.getvalue()
    assert "task-0 " not in out.getvalue()  # the one without a difference
    assert "task-0 " in duel_text.as_markdown(found)


def test_command_shows_prompts_of_the_suites_tasks(runs):
    settings = json.loads((runs / "suite.yaml").read_text())
    (runs / "suite.yaml").write_text(json.dumps(settings | {"tasks": [{"task": "math"}, {"task": "gone"}]}))
    from harness.tasks.load import load_task

    [problem] = load_task("math").problems("test", 1)
    for path in runs.glob("*/*/items.jsonl"):
        right = path.parents[1].name == "rloo"
        write_lines(path, [{"task": "math", "key": problem.key, "greedy": right, "text": "so it is"}])
    text = call("rloo", GRPO, "tiny", "--out", runs.parent)
    assert problem.prompt in text
    assert str(problem.answer) in text
    assert "so it is" in text


def test_formats(runs):
    out = ("--out", runs.parent)
    data = json.loads(call("rloo", GRPO, "tiny", "--json", *out))
    assert data == json.loads(call("rloo", GRPO, "tiny", "--format", "json", *out))
    assert data["difference"]["mean"] == pytest.approx(0.11)
    assert data["difference"]["p_sign"] is None  # two seeds cannot reach the level
    assert data["items"]["newly_lost"][0]["key"] == "code:2"
    assert [line["label"] for line in data["lines"]][:3] == ["score", "code", "math"]
    assert "tuning" not in [line["label"] for line in data["lines"]]
    assert "| score |" in call("rloo", GRPO, "tiny", "--format", "markdown", *out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rlo", GRPO], "Did you mean 'rloo'"),
        (["untraned", GRPO], "Did you mean 'untrained'"),
        ([GRPO, GRPO], "stands on both sides"),
        (["rloo", GRPO, "--format", "jsn"], "Did you mean 'json'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(runs, arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        call(*arguments[:2], "tiny", *arguments[2:], "--out", runs.parent)
    assert "\n" not in str(caught.value)


def test_what_tuning_cost_is_a_line(runs):
    settings = json.loads((runs / "suite.yaml").read_text())
    (runs / "suite.yaml").write_text(json.dumps(settings | {"tuning": {"trials": 8}}))
    for file in runs.glob("*/*/config.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"tuning": {"trials": 8, "spent": 9.6e6}}))
    [line] = [line for line in duel(board(runs), "rloo", GRPO).lines if line.label == "tuning"]
    assert line.values == (9.6e6, 9.6e6)
    assert "8 trials" in line.first


def test_figures(runs, tmp_path):
    call("rloo", GRPO, "tiny", "--out", runs.parent, "--figures", tmp_path / "figures")
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"discordance.png", "discordance.svg"}
    for path in runs.glob("*/*/items.jsonl"):
        path.unlink()
    with pytest.raises(UsageError, match="--figures"):
        call("rloo", GRPO, "tiny", "--out", runs.parent, "--figures", tmp_path / "none")
