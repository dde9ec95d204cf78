"""The page on statistics tells what the simulation found, and every column of a board."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from harness.leaderboard import board
from harness.leaderboard.columns import columns
from tests.leaderboard.fixtures import write_demo

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "statistics.md"
PRINTED = ("score [95 %]", "difference, one comparison", "differences of a board, all at once", "area [95 %]",
           "budget to target [95 %]", "difference on other items, 200 items", "rank ranges, all at once")  # fmt: skip
BETTER = 'A/A: boards with a false "better than GRPO"'


@pytest.fixture(scope="module")
def study():
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("coverage_study", ROOT / "benchmarks" / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def told(study):
    """The page's table: (what, drawn from) -> the values at 5 and at 10 seeds, and the boards drawn."""
    rows = PAGE.read_text(encoding="utf-8").split(study.BEGIN)[1].split(study.END)[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {
        (what, source): ([float(v.split()[0]) for v in values if v != "-"], int(draws.replace(",", "")))
        for what, source, *values, draws in cells
    }


def test_intervals_hold_within_three_points_for_gaussian_and_beta_seeds(told):
    seen = {
        what: [v for (name, source), (found, _) in told.items() if name == what and ordinary(source) for v in found]
        for what in PRINTED
    }
    for what, values in seen.items():
        assert len(values) >= 2, what
        low, high = (0.92, 1.0) if what.startswith("rank") else (0.92, 0.98)  # clear ranks are never missed
        assert all(low <= value <= high for value in values), (what, values)


def ordinary(source):
    """Neither collapsing seeds, nor what is shown for contrast, nor a target that nearly all miss."""
    return not re.search(r"falls by|seeds alone|7\d % of seeds miss", source)


def test_false_claims_are_rare_on_ten_thousand_boards(told):
    rows = [values for (what, _), values in told.items() if what == BETTER]
    assert len(rows) == 6
    for values, boards in rows:
        assert boards == 10_000
        assert len(values) == 2
        assert max(values) <= 0.055


def test_the_study_still_finds_what_the_page_tells(study, told):
    """A fiftieth of it: far off only where the functions have changed since."""
    lines = study.study(seed=1, size=0.02)
    assert {(line.table, line.row) for line in lines if "seeds miss" not in line.row} <= told.keys()
    for what in ("score [95 %]", "differences of a board, all at once", BETTER):
        for line in lines:
            if line.table == what:
                values, _ = told[what, line.row]
                assert line.value == pytest.approx(values[line.seeds == 10], abs=0.12), line


def test_the_table_is_put_between_its_marks(study, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{study.BEGIN}\nold\n{study.END}\nafter\n")
    text = study.markdown([study.Line("score", "Gaussian", 5, 0.95, 100), study.Line("power", "1 sd", 6, 0.8, 9)])
    study.write(page, text)
    study.write(page, text)
    assert page.read_text() == f"before\n{study.BEGIN}\n{text}\n{study.END}\nafter\n"
    assert "| score | Gaussian | 0.950 | - | 100 |" in text
    assert "| power | 1 sd | 0.800 (6 seeds) | - | 9 |" in text


@pytest.mark.parametrize("metric", ["score", "accuracy", "auc", "length"])
def test_every_column_is_explained(tmp_path, metric):
    shown = columns(board(write_demo(tmp_path), metric=metric, reduce="iqm" if metric == "accuracy" else "mean"))
    text = PAGE.read_text(encoding="utf-8")
    for column in shown:
        said = f"\n| {column.explained} |"
        assert text.count(said) == 1, f"docs/statistics.md does not explain the column {column.title!r}"
        assert len(text.split(said)[1].split("|")[0]) > 30, column.title
    titles = {column.title for column in shown}
    assert ("avg@4" in titles) == (metric != "score")
    assert ("to target" in titles) == (metric != "length")
