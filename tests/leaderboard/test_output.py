from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from harness.leaderboard import board
from harness.leaderboard.colours import BASELINE, colours, looks
from harness.leaderboard.columns import columns, number, points, probability
from harness.leaderboard.duel import duel
from harness.leaderboard.export import export
from harness.leaderboard.formats import as_csv, as_json, as_markdown, trials_csv
from harness.leaderboard.page import as_html
from harness.leaderboard.table import as_table
from tests.leaderboard.fixtures import GRPO, write_demo, write_suite, write_trial


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_demo(tmp_path_factory.mktemp("runs") / "tiny")


@pytest.fixture(scope="module")
def made(runs):
    return board(runs)


def printed(made, width):
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(as_table(made))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140, 200])
def test_the_table_fits_its_terminal(made, width):
    lines = printed(made, width).splitlines()
    assert max(map(len, lines)) <= width
    header = next(line for line in lines if line.startswith("method "))
    assert all(word in header for word in ("score", "difference", "verdict"))
    assert len([line for line in lines if "\N{HORIZONTAL ELLIPSIS}" in line]) == 0
    assert any("dapo+f-grpo(gamma=2)" in line and "+6.5 [+3.6, +9.3]" in line for line in lines)


def test_long_names_are_cut_before_numbers_are(tmp_path):
    """Two stacks that differ at their ends only, on 80 columns: told apart, with every number whole."""
    stack = "dapo(clip_high=0.28,clip_low=0.2)+f-grpo(gamma=2.0)+off-policy-filter(limit=4,mode='soft')"
    for seed in range(5):
        for method, gain in ((GRPO, 0.0), (stack, 0.1), (f"{stack}+more(x=1)", 0.12)):
            write_trial(tmp_path, method, seed, [0.2, 0.4 + gain + seed / 100 + gain * (seed % 2) / 10])
    write_suite(tmp_path, [GRPO, stack], 5)
    made = board(tmp_path)
    text = printed(made, 80)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for row in made.rows:
        found = row.difference
        numbers = f"{points(made, found.interval, sign=True)}  {found.verdict or '-'}" if found else f"{row.n}  "
        assert any(number(100 * row.score.mean) in line and numbers in line for line in lines), row.method
    assert len({line.split()[0] for line in lines if line.startswith("dapo")}) == 2
    assert "Long names are cut" in text
    assert "Long names are cut" not in printed(made, 200)


def test_marks_and_footnotes(made):
    text = printed(made, 200)
    for words in (
        f"{GRPO} (baseline)",
        "untrained (control)",
        "gspo (inert)",
        "rloo (experimental)",
        "raft: 1 diverged",
    ):
        assert words in text


def test_warnings_come_first(tmp_path):
    for seed in range(5):
        write_trial(tmp_path, GRPO, seed, [0.2, 0.4 + seed / 100])
        write_trial(tmp_path, f"{GRPO}+placebo", seed, [0.2, 0.5])
    write_suite(tmp_path, [GRPO], 5)
    text = as_markdown(board(tmp_path))
    assert text.index("WARNING") < text.index("| method |")


def test_markdown_has_a_row_for_each_method_and_may_be_cut(made):
    text = as_markdown(made)
    assert sum(line.startswith("| ") and line[2].isdigit() for line in text.splitlines()) == len(made.rows)
    assert "6 more rows" in as_markdown(made, top=3)


def test_csv_is_unrounded_and_without_nan(made):
    rows = list(csv.DictReader(io.StringIO(as_csv(made))))
    assert [row["method"] for row in rows] == [row.method for row in made.rows]
    assert float(rows[0]["score"]) == made.rows[0].score.mean
    assert "nan" not in as_csv(made)


def test_json_is_strict(made):
    value = json.loads(as_json(made), parse_constant=pytest.fail)
    assert value["rows"][0]["verdict"] == "better"
    assert len(value["rows"][0]["scores"]) == 5


def test_the_board_follows_from_the_raw_data(made):
    """Scores of the committed raw file give the board's again."""
    rows = [row for row in csv.DictReader(io.StringIO(trials_csv(made))) if row["last"] == "True"]
    for method in ("dr-grpo", GRPO):
        finals = [float(row["pass_at_1"]) for row in rows if row["method"] == method]
        assert np.mean(finals) == pytest.approx(made.row(method).score.mean)


class Cells(HTMLParser):
    """Counts table cells and refuses anything fetched from elsewhere."""

    def __init__(self):
        super().__init__()
        self.cells = self.rows = 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.cells += tag == "td"
        self.rows += tag == "tr"
        assert tag not in {"link", "iframe"}
        assert values.get("src", "data:").startswith("data:")


def test_html_is_whole_and_self_contained(made):
    parser = Cells()
    parser.feed(as_html(made))
    assert parser.rows == len(made.rows) + 1
    assert parser.cells == len(made.rows) * (len(columns(made)) - 1)  # the first cell is a heading of its row


def test_html_escapes_names(tmp_path):
    write_trial(tmp_path, "x(text='<b>')", 0, [0.1, 0.2])
    assert "&lt;b&gt;" in as_html(board(tmp_path))


def test_export(made, tmp_path):
    names = {path.name for path in export(made, tmp_path / "new" / "folder")}
    assert names >= {
        "leaderboard.md", "leaderboard.csv", "leaderboard.json", "leaderboard.html", "leaderboard.tex", "trials.csv",
        "scores.parquet", "items.parquet", "metrics.parquet", "suite.yaml", "provenance.json", "forest.png",
        "curves.png", "figures.html",
    }  # fmt: skip
    for path in (tmp_path / "new" / "folder").glob("*.png"):
        header = path.read_bytes()[:24]
        assert header[1:4] == b"PNG"
        assert int.from_bytes(header[16:20], "big") == 800


def test_figures_of_a_board_that_has_just_begun(tmp_path):
    write_trial(tmp_path, GRPO, 0, [0.2], status=None)
    write_suite(tmp_path, [GRPO, "dapo"], 5)
    assert export(board(tmp_path), tmp_path / "out")


def test_a_method_has_one_look(made):
    methods = made.matrix.methods
    look = colours(methods)
    assert look[methods[0]] == BASELINE
    many = [GRPO, *(f"m{i}" for i in range(20))]
    assert len({looks(many)[m] for m in many}) == len(many)
    assert colours(many[:5])["m2"] == colours(many)["m2"]


def test_numbers_for_people():
    assert [number(x) for x in (-0.04, 0.0, -3.2)] == ["0.0", "0.0", "\N{MINUS SIGN}3.2"]
    assert number(0.04, sign=True) == "0.0"
    assert [probability(p) for p in (0.0, 0.0004, 0.0312, 1.0)] == ["0", "<.001", ".031", "1"]


def test_every_column_explains_itself(made):
    assert all(len(column.meaning) > 10 for column in columns(made))
    assert len({column.title for column in columns(made)}) == len(columns(made))


def test_duel(runs):
    found = duel(board(runs), "dapo+f-grpo(gamma=2)", "dr-grpo")
    assert "is better than dr-grpo" in found.sentence
    assert "cannot be told apart" in duel(board(runs), "gspo", "dr-grpo").sentence
    assert found.items is not None
