"""The figures: what is drawn, read from the artists."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from harness.cli.leaderboard import leaderboard
from harness.errors import UsageError
from harness.leaderboard import board, figures
from harness.leaderboard.export import export
from harness.leaderboard.figures import NoDataError
from harness.leaderboard.figures.canvas import tips
from harness.leaderboard.figures.charges import spending
from harness.leaderboard.figures.items import count_discordance
from harness.leaderboard.figures.names import shorten, shown_names
from harness.leaderboard.figures.panels import groups
from harness.leaderboard.figures.rewards import gains
from harness.leaderboard.figures.series import metric_band, score_band
from harness.leaderboard.figures.targets import times_to
from harness.leaderboard.figures.training import Scale, column_scale
from harness.leaderboard.figures.wins import chances
from tests.leaderboard.fixtures import BUDGET, GRPO, write_demo, write_json, write_lines, write_suite, write_trial

LOGGED = {"tokens": 100.0, "tokens_trained": 50.0, "correct": 0.5, "surprisal": 0.4, "length": 20.0,
          "zero_variance": 0.25, "grad_norm": 1.0}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return board(write_demo(tmp_path_factory.mktemp("runs") / "tiny"))


@pytest.fixture
def runs(tmp_path):
    def write(curves, *, seeds=5, **settings):
        for method, curve in curves.items():
            for seed in range(seeds):
                write_trial(tmp_path, method, seed, curve, **settings)
        write_suite(tmp_path, list(curves), seeds)
        return board(tmp_path)

    return write


def words(figure):
    """All that a figure says."""
    figure.canvas.draw()
    return " ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def labels(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def marks(axes):
    """Single points: (x, y, marker, filled)."""
    points = [line for line in axes.lines if len(line.get_xdata()) == 1]
    return {
        (round(float(line.get_xdata()[0]), 6), float(line.get_ydata()[0])): (
            line.get_marker(),
            line.get_markerfacecolor() != "white",
        )
        for line in points
    }


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_fits_and_says_suite_seeds_and_band(made, name):
    try:
        figure = figures.FIGURES[name](made)
    except NoDataError:
        assert name in {"curves-generated", "curves-trained"}  # the fixture counts no tokens
        return
    text = words(figure)
    assert text.startswith("tiny: ") or "tiny: " in text
    assert "5 seeds" in text
    assert re.search(r"band|interval|mean over", text, re.IGNORECASE)
    assert figure.get_figwidth() * figures.canvas.DPI == 800
    for shown in (*figure.texts, *figure.axes[0].get_yticklabels()):
        box = shown.get_window_extent()
        assert -1 <= box.x0 <= box.x1 <= 801


@pytest.mark.parametrize("name", ["profiles", "targets"])
def test_the_label_of_a_lone_panel_stays_below_the_title(runs, name):
    figure = figures.FIGURES[name](runs({GRPO: [0.2, 0.4], "dapo": [0.2, 0.5]}, seeds=2))
    figure.canvas.draw()
    label = figure._supylabel
    above = min(
        text.get_window_extent().y0 for text in figure.texts if text is not label and text.get_position()[1] > 0.5
    )
    assert label.get_window_extent().y1 < above


def test_forest(made):
    axes = figures.forest(made).axes[0]
    shown = [row for row in made.rows if row.method != GRPO]
    assert labels(axes) == [row.method for row in reversed(shown)]
    first = shown[0]
    place = (round(100 * first.difference.interval.mean, 6), float(len(shown) - 1))
    assert marks(axes)[place] == ("^", True)
    assert sum(filled for _, filled in marks(axes).values()) == sum(bool(row.difference.verdict) for row in shown)


def test_forest_numbers(made):
    assert "+6.5 [+3.6, +9.3]" in words(figures.forest(made))


def test_an_interval_that_leaves_the_figure_ends_in_arrows(runs):
    made = runs({GRPO: [0.2, 0.4], "dapo": [0.2, 0.5]}, seeds=2)
    axes = figures.forest(made).axes[0]
    assert axes.get_xlim()[1] < 100
    write = [line.get_marker() for line in axes.lines]
    assert "provisional" in words(figures.forest(made)).lower()
    assert "o" in write


def test_task_forest_has_a_panel_a_task(made):
    drawn = figures.task_forest(made).axes
    assert [axes.get_title(loc="left") for axes in drawn] == list(made.matrix.tasks)


def test_task_forest_of_one_task(runs):
    made = runs({GRPO: {"math": [0.2, 0.4]}, "dapo": {"math": [0.2, 0.5]}})
    with pytest.raises(NoDataError, match="one task"):
        figures.task_forest(made)


def test_curves(made):
    drawn = [axes for axes in figures.curves(made).axes if axes.get_visible()]
    assert len(drawn) == len(made.matrix.methods) - 1
    for axes in drawn:
        base, mine = axes.lines
        assert base.get_linestyle() == "--"
        assert mine.get_linestyle() == "-"
        assert len(axes.collections) == 2  # both bands
        assert axes.get_ylim() == drawn[0].get_ylim()
    best = next(axes for axes in drawn if axes.get_title(loc="left") == "dapo+f-grpo(gamma=2)")
    assert best.lines[1].get_ydata()[-1] == pytest.approx(100 * made.row("dapo+f-grpo(gamma=2)").score.mean)


def test_curves_without_enough_seeds_have_no_band(runs):
    made = runs({GRPO: [0.2, 0.4], "dapo": [0.2, 0.5]}, seeds=2)
    assert not figures.curves(made).axes[0].collections


def test_a_failed_trial_goes_on_at_what_it_scores(tmp_path):
    write_trial(tmp_path, GRPO, 0, [0.2, 0.4, 0.6])
    write_trial(tmp_path, GRPO, 1, [0.2, 0.5], status="failed", progress=[0, 0.5])
    write_suite(tmp_path, [GRPO], 2)
    for metric in ("score", "auc"):
        assert score_band(board(tmp_path, metric=metric), GRPO).mean.tolist() == pytest.approx([0.2, 0.45, 0.4])


def test_tokens_generated_and_trained(runs):
    made = runs({GRPO: [0.2, 0.3, 0.4], "dapo": [0.2, 0.3, 0.5]}, metrics=LOGGED, steps=40)
    assert score_band(made, GRPO, "generated").x.tolist() == pytest.approx([0, 2000, 4000])
    assert score_band(made, GRPO, "trained").x.tolist() == pytest.approx([0, 1000, 2000])
    axes = figures.generated_curves(made).axes[0]
    assert axes.lines[1].get_xdata()[-1] == pytest.approx(4000)
    assert "tokens trained" in words(figures.trained_curves(made))


def test_a_measure_that_is_not_a_share_is_not_in_points(tmp_path):
    for seed in range(3):
        for method in (GRPO, "dapo"):
            write_trial(tmp_path, method, seed, [0.2, 0.4], metrics=LOGGED)
    write_suite(tmp_path, [GRPO, "dapo"], 3)
    made = board(tmp_path, metric="length")
    assert figures.curves(made).axes[0].lines[1].get_ydata().tolist() == [20.0, 20.0]
    assert "points" not in words(figures.forest(made))
    for draw in (figures.reward_gap, figures.survival):
        with pytest.raises(NoDataError):
            draw(made)


def test_profiles(made):
    drawn = figures.performance_profiles(made).axes
    names = [[line.get_gid().removeprefix("method:") for line in axes.lines] for axes in drawn]
    assert all(panel[0] == GRPO for panel in names)
    assert sorted({name for panel in names for name in panel[1:]}) == sorted(set(made.matrix.methods) - {GRPO})
    for axes in drawn:
        for line in axes.lines:
            share = line.get_ydata()
            assert share[0] == 1
            assert share[-1] == 0
            assert (np.diff(share) <= 0).all()


def test_groups_are_of_even_size(made):
    many = [row.method for row in made.rows if row.method in made.matrix.methods]
    assert [len(part) for part in groups(made, many, most=4)] == [5, 4]
    assert groups(made, [GRPO]) == [[GRPO]]
    assert groups(made, []) == []


def test_chances_are_those_of_the_statistic():
    final = np.array([[[0.1], [0.2]], [[0.3], [0.15]], [[np.nan], [0.9]]])
    found = chances(final)
    assert found[0, 1] == pytest.approx(0.25)
    assert found[0, 1] + found[1, 0] == pytest.approx(1)
    assert found[2, 0] == 1
    assert np.isnan(np.diag(found)).all()


def test_win_matrix(made):
    axes = figures.win_matrix(made).axes[0]
    methods = [row.method for row in made.rows if row.method in made.matrix.methods]
    cells = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in axes.texts
             if text.get_text().isdigit()}  # fmt: skip
    assert len(cells) == len(methods) * (len(methods) - 1)
    dapo, raft = methods.index("dapo+f-grpo(gamma=2)"), methods.index("raft")
    assert cells[dapo, raft] == "100"
    assert cells[raft, dapo] == "0"
    marked = [text.get_text() for text in axes.texts if text.get_text() in "▲▼"]
    assert len(marked) % 2 == 0
    assert marked
    assert labels(axes)[dapo] == f"dapo+f-grpo(gamma=2)   {made.row('dapo+f-grpo(gamma=2)').letters}"


def test_the_win_matrix_marks_the_method_that_the_test_is_for(tmp_path):
    """dapo gains little on one task and loses much on the other: in P(better) it is even, by its mean it is worse."""
    for seed in range(6):
        luck = seed / 1000
        write_trial(tmp_path, GRPO, seed, {"math": [0.2, 0.5 + luck], "code": [0.2, 0.5 + luck]})
        write_trial(tmp_path, "dapo", seed, {"math": [0.2, 0.52 + luck], "code": [0.2, 0.3 + 3 * luck]})
    write_suite(tmp_path, [GRPO, "dapo"], 6)
    made = board(tmp_path)
    assert made.row("dapo").difference.verdict == "worse"
    assert made.row("dapo").difference.p_better == 0.5
    axes = figures.win_matrix(made).axes[0]
    marks = {text.get_text(): round(text.get_position()[1]) for text in axes.texts if text.get_text() in "▲▼"}
    assert marks == {"▲": 0, "▼": 1}  # the baseline stands first


def test_win_matrix_of_few_seeds_tests_nothing(runs):
    made = runs({GRPO: [0.2, 0.4], "dapo": [0.2, 0.5]}, seeds=3)
    text = words(figures.win_matrix(made))
    assert "no pair is tested" in text
    assert "▲" not in text


def test_survival(tmp_path):
    for seed in range(4):
        write_trial(tmp_path, GRPO, seed, [0.2, 0.4, 0.6])
        write_trial(tmp_path, "fast", seed, [0.2, 0.6, 0.6])
        write_trial(tmp_path, "slow", seed, [0.2, 0.2, 0.3], status="done" if seed else "failed")
    write_suite(tmp_path, [GRPO, "fast", "slow"], 4)
    made = board(tmp_path)
    assert times_to(made, GRPO, 0.4).tolist() == pytest.approx([0.5] * 4)
    assert times_to(made, "fast", 0.4).tolist() == pytest.approx([0.25] * 4)
    assert np.isinf(times_to(made, "slow", 0.4)).all()
    half = figures.survival(made).axes[0]
    lines = {line.get_label(): line for line in half.lines if not line.get_label().startswith("_")}
    assert lines["fast"].get_xdata()[1] == pytest.approx(0.25)
    assert lines["slow"].get_ydata()[-1] == pytest.approx(1, abs=0.1)
    assert lines["fast"].get_ydata()[-1] == pytest.approx(0, abs=0.1)
    assert [line.get_marker() for line in half.lines].count("|") == 1  # only the slow one misses


def test_no_target_without_a_gain(runs):
    with pytest.raises(NoDataError, match="gains nothing"):
        figures.survival(runs({GRPO: [0.4, 0.2], "dapo": [0.4, 0.5]}))


def test_costs(made):
    parts = spending(made.matrix.of("dapo+f-grpo(gamma=2)"))
    assert parts["generate, dropped"] == pytest.approx(75_000)
    assert parts["generate"] == pytest.approx(175_000)
    axes = figures.cost_breakdown(made).axes[0]
    widths = sum(bar.get_width() for bar in axes.patches)
    assert widths == pytest.approx(1_170_000 * len(made.matrix.methods))
    assert any(line.get_xdata()[0] == BUDGET for line in axes.lines)


def test_costs_of_modules_and_of_no_ledger(tmp_path):
    folder = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    write_json(folder / "ledger.json", {"categories": {"generate": 1.0, "module:critic": 2.0, "teacher:x": 3.0}})
    assert "teacher:x" in words(figures.cost_breakdown(board(tmp_path)))
    write_json(folder / "ledger.json", {})
    with pytest.raises(NoDataError, match="ledger"):
        figures.cost_breakdown(board(tmp_path))


def test_training_health(runs):
    made = runs({GRPO: [0.2, 0.4], "dapo": [0.2, 0.5]}, metrics=LOGGED | {"kl_reference": 0.1})
    figure = figures.training_health(made)
    titles = [axes.get_title().splitlines()[0] for axes in figure.axes]
    assert titles == ["entropy,", "KL to the", "clipped", "length,", "groups of", "gradient"]
    assert labels(figure.axes[0]) == ["dapo" if row.method != GRPO else GRPO for row in reversed(made.rows)
                                      if row.method != "untrained"]  # fmt: skip


def test_health_skips_what_is_not_a_number(tmp_path):
    folder = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    write_lines(folder / "metrics.jsonl", [
        {"step": 0, "progress": 0.5, "length": math.nan, "grad_norm": None, "reward": "much"},
        {"step": 1, "progress": 1.0, "length": 4.0, "grad_norm": math.inf},
    ])  # fmt: skip
    made = board(tmp_path)
    band = metric_band(made.matrix.of(GRPO), "length")
    assert band.mean[np.isfinite(band.mean)].tolist() == [4.0]
    assert len(figures.training_health(made).axes) == 1


def test_metric_bins():
    """Two trials, one of which stops at half of the budget."""

    class Told:
        def __init__(self, progress, values):
            self.metrics = [{"progress": x, "length": y} for x, y in zip(progress, values, strict=True)]

    steps = np.arange(1, 5) / 4
    band = metric_band([Told(steps, [1, 2, 3, 4]), Told(steps[:2], [3, 4])], "length")
    assert band.n == 2
    assert band.mean.tolist() == [2, 3, 3.5]  # as many bins as the median trial has steps


def test_scales():
    assert column_scale([np.array([0.1, 0.4])]).low == 0
    wide = column_scale([np.array([1.0] * 50 + [1000.0] * 2)])
    assert wide.log
    assert wide.raised(np.array([wide.low, wide.high, 1e9])).tolist() == pytest.approx([0, 0.86, 0.86])
    assert column_scale([np.zeros(3)]) == Scale(0.0, 1.0)
    assert column_scale([np.full(3, 0.2)]) == Scale(0.0, 0.4)
    assert column_scale([np.full(3, np.nan)]) == Scale(0.0, 1.0)


def test_reward_gap(runs):
    made = runs({GRPO: [0.2, 0.5], "dapo": [0.2, 0.5]}, metrics=LOGGED)
    found = gains(made, GRPO)
    assert found.held_out.tolist() == pytest.approx([0.3] * 5)
    assert found.reward.tolist() == pytest.approx([0.9] * 5)  # the reward rises from 0 to 39/40: means of four steps
    assert found.gap.tolist() == pytest.approx([0.6] * 5)
    right = figures.reward_gap(made).axes[1]
    assert {x for x, _ in marks(right)} == {60.0}


def test_reward_gap_needs_training_metrics(runs):
    with pytest.raises(NoDataError):
        figures.reward_gap(runs({GRPO: [0.2, 0.5]}, steps=0))


def write_items(runs, method, seed, right):
    folder = write_trial(runs, method, seed, [0.2, 0.4])
    write_lines(folder / "items.jsonl", [
        {"task": "math", "key": key, "greedy": key in right, "samples": 2, "correct_samples": 1} for key in "abcd"
    ])  # fmt: skip


def test_discordance(tmp_path):
    for seed, (one, two) in enumerate((("abc", "a"), ("ab", "ad"))):
        write_items(tmp_path, "dapo", seed, one)
        write_items(tmp_path, GRPO, seed, two)
    write_suite(tmp_path, [GRPO, "dapo"], 2)
    made = board(tmp_path)
    found = count_discordance(made, "dapo", GRPO)
    assert found.gained.tolist() == [2, 1]
    assert found.lost.tolist() == [0, 1]
    assert found.table.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 1]]  # d; c; b; a
    assert found.tasks == {"math": (3, 1)}
    left, right = figures.discordance(made, "dapo", GRPO).axes
    assert sorted(text.get_text() for text in left.texts) == ["1", "1", "1", "1"]
    assert sorted(bar.get_width() for bar in right.patches) == [-1, 0, 1, 2]


def test_discordance_of_what_is_not_there(tmp_path):
    write_items(tmp_path, "dapo", 0, "a")
    write_trial(tmp_path, GRPO, 0, [0.2], status=None)
    made = board(tmp_path)
    with pytest.raises(UsageError, match="dapo"):
        figures.discordance(made, "dapoo", GRPO)
    with pytest.raises(NoDataError, match="share no seed"):
        figures.discordance(made, "dapo", GRPO)


@pytest.mark.parametrize("last", [0.4, 0.0, None])
def test_one_seed_one_method_one_value(tmp_path, last):
    """Nothing to compare, no spread, no number: what can be drawn is, the rest says why not."""
    folder = write_trial(tmp_path / "runs", GRPO, 0, {"math": [0.4, last or 0.0]})
    if last is None:  # an evaluation without the measure
        write_lines(folder / "evaluations.jsonl", [
            {"step": 0, "progress": 0.0, "tasks": {"math": {"pass_at_1": 0.4}}},
            {"step": 9, "progress": 1.0, "tasks": {"math": {"length": 4}}},
        ])  # fmt: skip
    write_suite(tmp_path / "runs", [GRPO], 1)
    paths = figures.save_figures(board(tmp_path / "runs"), tmp_path)
    assert {"costs.png", "health.png", "figures.html"} <= {path.name for path in paths}


def test_nothing_has_ended(tmp_path):
    write_trial(tmp_path / "runs", GRPO, 0, [0.2], status=None)
    write_suite(tmp_path / "runs", [GRPO, "dapo"], 5)
    made = board(tmp_path / "runs")
    for name in ("forest", "curves", "profiles", "wins", "costs", "reward-gap"):
        with pytest.raises(NoDataError):
            figures.FIGURES[name](made)


def test_missing_trials_are_told(tmp_path):
    for seed in range(5):
        write_trial(tmp_path, GRPO, seed, [0.2, 0.4])
    write_trial(tmp_path, "dapo", 1, [0.2, 0.4], status="timeout")
    write_suite(tmp_path, [GRPO, "dapo"], 5)
    assert "1 to 5 of 5 seeds, 1 failed trial included" in words(figures.curves(board(tmp_path)))


class Page(HTMLParser):
    """Refuses anything fetched from elsewhere and ids that occur twice."""

    def __init__(self):
        super().__init__()
        self.ids, self.lit, self.figures = [], set(), 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert tag not in {"link", "iframe", "img"}
        assert "src" not in values
        assert not (values.get("href") or values.get("xlink:href") or "#").startswith("http")
        self.figures += tag == "figure"
        self.ids += [values["id"]] if "id" in values else []
        if values.get("class") == "m":
            self.lit.add(int(values["data-m"]))


def test_the_interactive_page_is_whole_and_self_contained(made, tmp_path):
    (path,) = figures.save_figures(made, tmp_path, ["html"])
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.figures == len(figures.FIGURES) - 2  # the fixture counts no tokens
    assert len(page.ids) == len(set(page.ids))
    assert page.lit == set(range(len(made.rows)))
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.DOTALL).group(1))
    assert any("dapo+f-grpo(gamma=2): +6.5 [+3.6, +9.3]" in place[3] for place in data["forest"])
    assert len(text) < 1_500_000


def test_tips_lie_in_the_figure(made):
    figure = figures.forest(made)
    figures.figure_bytes(figure, "svg")
    from harness.leaderboard.figures.interactive import tip_places

    places = tip_places(figure, {row.method: i for i, row in enumerate(made.rows)})
    width, height = 72 * figure.get_size_inches()
    assert len(places) == len(tips(figure)) == len(made.rows) - 1
    assert all(0 <= x <= width and 0 <= y <= height for x, y, *_ in places)


def test_names_in_the_page_are_escaped(tmp_path):
    write_trial(tmp_path / "runs", "x(text='</script><b>\"')", 0, [0.1, 0.2])
    (path,) = figures.save_figures(board(tmp_path / "runs"), tmp_path, ["html"])
    assert "<b>" not in path.read_text(encoding="utf-8")


def test_a_pdf_embeds_truetype_fonts_and_no_date(made, tmp_path):
    data = figures.write_figure(figures.forest(made), tmp_path / "forest.pdf").read_bytes()
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data
    assert data == figures.figure_bytes(figures.forest(made), "pdf")


def test_formats(made, tmp_path):
    with pytest.raises(UsageError, match="png"):
        figures.save_figures(made, tmp_path, ["pgn"])
    with pytest.raises(UsageError, match="pdf"):
        figures.write_figure(figures.forest(made), tmp_path / "forest.gif")


def test_names_are_shortened_where_they_say_least():
    assert shorten("dapo", 10) == "dapo"
    assert shorten("dapo(clip_high=0.28, buffer=16)+f-grpo", 20) == "dapo(…)+f-grpo"
    assert shorten("abcdefghijklmnop", 10) == "abcdef…nop"
    long = [f"dapo(clip_high=0.28, buffer=16)+high-entropy-tokens(share={x})" for x in (0.2, 0.4)]
    found = shown_names(long, 28)
    assert [name[-4:] for name in found.values()] == ["0.2)", "0.4)"]
    assert len(set(shown_names(["a" * 40 + "b" * 40 + str(i) + "c" * 40 for i in range(3)], 20).values())) == 3
    assert max(map(len, found.values())) <= 28


def test_an_export_takes_formats_for_papers(made, tmp_path, monkeypatch):
    monkeypatch.setattr(figures.files, "FIGURES", {"forest": figures.forest})
    names = {path.name for path in export(made, tmp_path, ["pdf", "svg"])}
    assert names >= {"forest.png", "forest.pdf", "forest.svg", "figures.html"}


def test_figures_without_a_folder_are_refused():
    with pytest.raises(UsageError, match="--export FOLDER"):
        leaderboard(["tiny"], figures=["pdf"])
