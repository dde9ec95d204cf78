"""A board whose controls fail says so wherever it is shown: the runs are tampered with, and every format must tell."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from harness.leaderboard import board
from harness.leaderboard.formats import as_csv, as_json, as_markdown
from harness.leaderboard.latex import as_latex
from harness.leaderboard.page import as_html
from harness.leaderboard.table import as_table
from tests.leaderboard.fixtures import GRPO, write_json, write_lines, write_suite, write_trial

BASE = [0.40, 0.42, 0.38, 0.41, 0.39, 0.40]
PLACEBO, RANDOM = f"{GRPO}+placebo", f"{GRPO}+random-reward"
FORMS = ("table", "narrow", "chosen", "markdown", "top", "csv", "json", "html", "latex")


def shown(made, form):
    """The board as one text."""
    if form in {"table", "narrow", "chosen"}:
        console = Console(width=60 if form == "narrow" else 160, file=io.StringIO())
        console.print(as_table(made, "score" if form == "chosen" else None))
        return console.file.getvalue()
    return {
        "markdown": as_markdown, "top": lambda board: as_markdown(board, top=1), "csv": as_csv, "json": as_json,
        "html": as_html, "latex": as_latex,
    }[form](made)  # fmt: skip


def said(text):
    """The text on one line, as a reader sees it."""
    return " ".join(text.replace("&#x27;", "'").split())


@pytest.fixture
def runs(tmp_path):
    """An honest suite."""
    for seed, final in enumerate(BASE):
        for method, score in ((GRPO, final), ("dapo", final + 0.05), (PLACEBO, final), (RANDOM, 0.2 + seed / 1000)):
            write_trial(tmp_path, method, seed, [0.25, score])
    write_suite(tmp_path, [GRPO, "dapo", PLACEBO, RANDOM], len(BASE))
    return tmp_path


def tampered(runs, method, seed, change):
    """Change the records of a trial's evaluations."""
    file = next(path for path in runs.glob(f"*/seed-{seed}/evaluations.jsonl")
                if json.loads((path.parent / "config.json").read_text())["stack"] == method)  # fmt: skip
    records = [json.loads(line) for line in file.read_text().splitlines()]
    change(records)
    write_lines(file, records)


def test_an_honest_board_warns_of_nothing(runs):
    made = board(runs)
    for form in FORMS:
        text = shown(made, form)
        assert "WARNING" not in text, form
        assert "differs from" not in text, form


def last_bit(records):
    records[-1]["tasks"]["math"]["pass_at_1"] += 2**-40


def other_length(records):
    records[0]["tasks"]["code"]["length"] += 0.001


def one_less(records):
    del records[-1]


@pytest.mark.parametrize("change", [last_bit, other_length, one_less])
def test_a_placebo_that_differs_by_the_least_is_told(runs, change):
    tampered(runs, PLACEBO, 2, change)
    made = board(runs)
    assert len(made.warnings) == 1
    for form in FORMS:
        text = said(shown(made, form))
        assert "differs from" in text, form
        assert form in {"csv", "json"} or "WARNING" in text, form


def test_a_placebo_is_held_against_the_method_that_it_wraps(runs):
    """Not against the baseline, from which that method may differ."""
    for seed, final in enumerate(BASE):
        write_trial(runs, "dapo+placebo", seed, [0.25, final + 0.05])
    made = board(runs)
    assert made.row("dapo+placebo").role == "placebo"
    assert not made.warnings
    tampered(runs, "dapo+placebo", 3, last_bit)
    assert board(runs).warnings[0].startswith("dapo+placebo differs from dapo on seeds 3")
    write_trial(runs, "raft+placebo", 0, [0.25, 0.5])
    assert "raft+placebo shows nothing: raft, which it must equal, is not on this board" in board(runs).notes


def test_a_placebo_that_ended_otherwise_is_told(runs):
    path = next(runs.glob("*placebo*/seed-1/result.json"))
    write_json(path, {"status": "diverged", "error": "x"})
    assert "on seeds 1" in board(runs).warnings[0]


def test_random_rewards_that_teach_are_told(runs):
    for seed in range(len(BASE)):
        write_trial(runs, RANDOM, seed, [0.25, 0.30 + seed / 100])
    made = board(runs)
    assert len(made.warnings) == 1
    for form in FORMS:
        text = said(shown(made, form))
        assert "random-reward gains" in text, form
        assert "format or contamination" in text, form


def test_random_rewards_that_gain_by_luck_are_not_told(runs):
    for seed, final in enumerate([0.26, 0.25, 0.24, 0.27, 0.23, 0.26]):
        write_trial(runs, RANDOM, seed, [0.25, final])
    assert not board(runs).warnings


def test_every_row_of_the_csv_carries_the_warning(runs):
    tampered(runs, PLACEBO, 0, last_bit)
    rows = list(csv.DictReader(io.StringIO(as_csv(board(runs)))))
    assert len(rows) == 5
    assert all("placebo differs" in row["warnings"] for row in rows)
    assert json.loads(as_json(board(runs)))["warnings"]


def test_honesty_rows_are_marked(runs):
    text = as_markdown(board(runs))
    for name in (f"{GRPO} (baseline)", f"{PLACEBO} (control)", f"{RANDOM} (control)", "untrained (control)"):
        assert f"| {name} |" in text


def test_answers_that_the_limit_cuts_are_told(runs):
    def cut(share):
        def change(records):
            records[0]["tasks"]["math"]["truncated"] = 0.9  # the untrained policy's: no matter
            records[-1]["tasks"]["math"]["truncated"] = share

        return change

    for seed in range(len(BASE)):
        tampered(runs, "dapo", seed, cut(0.06 if seed % 2 else 0.0))
        tampered(runs, GRPO, seed, cut(0.01))
    made = board([runs])
    assert any("answers to math cut at the length limit: dapo 3.0%; they count as wrong" in note for note in made.notes)
    assert not any("answers to code" in note for note in made.notes)
