"""Ranks, letters, budget to target, evaluation error, samples, tuning: what a row says beside its score."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard import statistics as st
from harness.leaderboard.cells import amount, to_target
from harness.leaderboard.columns import columns, footnotes, select
from harness.leaderboard.formats import as_markdown
from tests.leaderboard.fixtures import BUDGET, GRPO, write_json, write_lines, write_suite, write_trial

START = 0.25
BASE = [0.40, 0.42, 0.38, 0.41, 0.39]


def write_rows(root, rows, **settings):
    """method -> final scores of its seeds; the curve is a straight line."""
    for method, finals in rows.items():
        for seed, final in enumerate(finals):
            write_trial(root, method, seed, [START, (START + final) / 2, final], **settings)
    write_suite(root, list(rows), max(len(finals) for finals in rows.values()))


def shifted(by):
    return [b + by + 0.001 * i for i, b in enumerate(BASE)]


def test_ranks_and_letters_of_methods_that_stand_apart(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2), "good": shifted(0.1), "like": BASE[::-1],
                          f"{GRPO}+placebo": BASE})  # fmt: skip
    made = board(tmp_path)
    assert made.row("best").rank == (1, 1)
    assert made.row("good").rank == (2, 2)
    assert made.row(GRPO).rank == made.row("like").rank == (3, 4)
    assert [made.row(name).letters for name in ("best", "good", GRPO, "like")] == ["a", "b", "c", "c"]
    for control in (f"{GRPO}+placebo", "untrained"):
        assert (made.row(control).rank, made.row(control).letters) == (None, "")


def test_few_seeds_tell_no_method_apart(tmp_path):
    write_rows(tmp_path, {GRPO: BASE[:3], "best": shifted(0.2)[:3]})
    made = board(tmp_path)
    assert made.row("best").rank == made.row(GRPO).rank == (1, 2)
    assert made.row("best").letters == made.row(GRPO).letters == "a"


def test_a_planned_method_without_trials_keeps_its_place_open(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    write_suite(tmp_path, [GRPO, "best", "rloo"], 5)
    made = board(tmp_path)
    assert made.row("best").rank == (1, 2)  # rloo may yet be better
    assert made.row("rloo").rank is None


def test_target_is_the_baselines_mean_final_score(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2), "poor": [0.3] * 5})
    made = board(tmp_path)
    assert made.target.score == pytest.approx(np.mean(BASE))
    best = made.row("best").reached
    expected = [BUDGET * (0.40 - START) / (final - START) for final in shifted(0.2)]  # straight lines
    assert best.budget.mean == pytest.approx(np.mean(expected))
    assert (best.reached, best.of) == (5, 5)
    poor = made.row("poor").reached
    assert (poor.budget.mean, poor.reached, poor.of) == (BUDGET, 0, 5)
    assert math.isnan(poor.budget.low)
    assert made.row("untrained").reached is None
    assert to_target(made.row("poor")) == "1.2M, 0 of 5"
    assert any(line.startswith("to target: 40.0, the mean final score of grpo(beta=0)") for line in footnotes(made))


def test_other_targets(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    assert board(tmp_path, target="0.3").target.score == 0.3
    half = board(tmp_path, target="50%").target
    assert half.score == pytest.approx(START + 0.5 * (np.mean(BASE) - START))
    assert half.rule == "50% of the gain of grpo(beta=0)"
    assert board(tmp_path, target="50%").row(GRPO).reached.reached == 5
    for wrong in ("45", "x", "x%", "nan"):
        with pytest.raises(UsageError, match="--target"):
            board(tmp_path, target=wrong)
    with pytest.raises(UsageError, match="length is no measure"):
        board(tmp_path, metric="length", target="0.3")
    assert board(tmp_path, metric="length").target is None


@pytest.mark.parametrize("metric", ["score", "auc"])
def test_the_target_counts_a_baseline_trial_that_failed_before_it_was_evaluated(tmp_path, metric):
    """It scores what the untrained policy did under its seed, so the target is the mean that the board shows."""
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    write_trial(tmp_path, GRPO, 4, [], status="failed")
    assert board(tmp_path, metric=metric).target.score == pytest.approx(board(tmp_path).row(GRPO).score.mean)


def test_a_failed_trial_misses_even_a_target_that_it_had_passed(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "raft": shifted(0.2)})
    write_trial(tmp_path, "raft", 0, [START, 0.9], status="diverged", progress=[0, 0.5])
    found = board(tmp_path).row("raft").reached
    assert (found.reached, found.of) == (4, 5)


def test_the_interval_stays_within_the_budget(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "wild": [0.9, 0.401, 0.3, 0.9, 0.39]})
    found = board(tmp_path).row("wild").reached.budget
    assert 0 <= found.low < found.mean < found.high <= BUDGET


def write_answers(path, right):
    """The items of a trial: task -> right ones of four samples of each problem."""
    write_lines(path / "items.jsonl", [
        {"task": task, "key": f"{task}-{i}", "greedy": count > 2, "correct_samples": count, "samples": 4}
        for task, counts in right.items() for i, count in enumerate(counts)
    ])  # fmt: skip


def test_evaluation_error_is_that_of_the_problems_means(tmp_path):
    generator = np.random.default_rng(0)
    right = generator.integers(0, 5, (5, 2, 30))
    write_rows(tmp_path, {GRPO: BASE})
    for seed in range(5):
        path = write_trial(tmp_path, GRPO, seed, [START, BASE[seed]])
        write_answers(path, {"math": right[seed, 0].tolist(), "code": right[seed, 1].tolist()})
    errors = [np.std((right[:, k] / 4).mean(axis=0), ddof=1) / math.sqrt(30) for k in range(2)]
    made = board(tmp_path)
    assert made.row(GRPO).evaluation_error == pytest.approx(math.hypot(*errors) / 2)
    one = board(tmp_path, metric="math").row(GRPO)
    assert one.evaluation_error == pytest.approx(errors[0])
    greedy = np.std((right[:, 0] > 2).mean(axis=0), ddof=1) / math.sqrt(30)
    assert board(tmp_path, metric="math/accuracy").row(GRPO).evaluation_error == pytest.approx(greedy)
    some = np.std(st.pass_at_k(right[:, 0], 4, 4).mean(axis=0), ddof=1) / math.sqrt(30)
    assert board(tmp_path, metric="math/pass_at_k").row(GRPO).evaluation_error == pytest.approx(some)
    assert math.isnan(board(tmp_path, metric="auc").row(GRPO).evaluation_error)
    assert "eval error" not in {column.title for column in columns(board(tmp_path, metric="length"))}


def test_problems_are_matched_by_name_and_failures_left_out(tmp_path):
    write_rows(tmp_path, {GRPO: BASE})
    rows = [{"task": "math", "key": key, "greedy": True, "correct_samples": c, "samples": 4}
            for key, c in (("a", 0), ("b", 4), ("c", 2), ("d", 2))]  # fmt: skip
    for seed in range(5):
        path = write_trial(tmp_path, GRPO, seed, {"math": [START, BASE[seed]]})
        write_lines(path / "items.jsonl", rows[:3] if seed % 2 else [*rows[::-1]])
    path = write_trial(tmp_path, GRPO, 4, {"math": [START, 0.1]}, status="failed")
    write_lines(path / "items.jsonl", [{**row, "correct_samples": 4} for row in rows])
    expected = np.std([0, 1, 0.5], ddof=1) / math.sqrt(3)
    assert board(tmp_path, metric="math").row(GRPO).evaluation_error == pytest.approx(expected)


def test_samples(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    made = board(tmp_path, metric="accuracy")
    row = made.row(GRPO)
    assert (row.k, row.avg_at_k, row.pass_at_k) == pytest.approx((4, np.mean(BASE), np.mean(BASE) + 0.1))
    assert made.row("untrained").pass_at_k == pytest.approx(START + 0.1)
    titles = [column.title for column in columns(made)]
    assert {"avg@4", "pass@4"} <= set(titles)
    assert "length" in titles
    assert row.length == pytest.approx(20.0)
    assert [column.title for column in columns(board(tmp_path, metric="length"))].count("length") == 1  # the score
    assert "avg@4" not in [column.title for column in columns(board(tmp_path))]  # it is the score


def test_interquartile_mean(tmp_path):
    tasks = {f"t{i}": [0.2, value] for i, value in enumerate([0.0, 0.3, 0.5, 1.0])}
    for seed in range(5):
        write_trial(tmp_path, GRPO, seed, tasks)
    write_suite(tmp_path, [GRPO], 5)
    made = board(tmp_path, reduce="iqm")
    assert made.row(GRPO).score.mean == pytest.approx(0.4)
    assert board(tmp_path).row(GRPO).score.mean == pytest.approx(0.45)
    assert "score (IQM)" in as_markdown(made)
    assert select(made, "score")[1].title == "score (IQM)"
    with pytest.raises(UsageError, match="--reduce iqn: write mean or iqm"):
        board(tmp_path, reduce="iqn")


def test_detectable_effect_is_under_the_board(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "noisy": [b + d for b, d in zip(BASE, [0.1, -0.1, 0, 0.1, -0.1], strict=True)]})
    made = board(tmp_path)
    spread = np.std([0.1, -0.1, 0, 0.1, -0.1], ddof=1)
    assert made.detectable == (pytest.approx(st.minimum_detectable_effect(5, spread)), 5)
    points = f"{100 * made.detectable[0]:.1f} points"
    assert any(
        line.startswith(f"With 5 seeds this board finds differences of about {points}") for line in footnotes(made)
    )
    write_rows(tmp_path / "few", {GRPO: BASE[:4], "noisy": BASE[:4]})
    assert not any("this board finds" in line for line in footnotes(board(tmp_path / "few")))


def test_tracks(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    made = board(tmp_path)
    assert made.tuning.track == "published defaults"
    assert "published defaults" in as_markdown(made)
    write_suite(tmp_path, [GRPO, "best"], 5, tuning={"trials": 8, "cost": 7_200_000})
    made = board(tmp_path)
    assert made.tuning.track == "tuned, 8 trials"
    assert "a trial, tuned, 8 trials" in as_markdown(made)
    assert "| 8 trials, 7.2M |" in as_markdown(made)
    assert made.row("best").tuning.cost == 7_200_000
    assert made.row("untrained").tuning.trials == 0


def test_rows_of_two_tracks_never_mix(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    for file in tmp_path.glob("best/*/config.json"):
        write_json(file, json.loads(file.read_text()) | {"tuning": {"trials": 8}})
    with pytest.raises(UsageError, match=r"different tracks \(published defaults and tuned, 8 trials\)"):
        board(tmp_path)
    file = tmp_path / "best" / "seed-0" / "config.json"
    write_json(file, json.loads(file.read_text()) | {"tuning": {"trials": 4}})
    with pytest.raises(UsageError, match="best: its trials are of different tracks"):
        board(tmp_path)


def test_columns_are_chosen_by_heading(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "best": shifted(0.2)})
    made = board(tmp_path)
    assert [column.title for column in select(made, "to target, SCORE,pass@k")] == [
        "method", "to target", "score", "pass@4",
    ]  # fmt: skip
    assert [column.title for column in select(made, "all")] == [column.title for column in columns(made)]
    assert [column.title for column in select(made, "method")] == ["method"]
    with pytest.raises(UsageError, match="--columns , : names no column"):
        select(made, ", ")
    with pytest.raises(UsageError, match=r"--columns to taget: no such column. Did you mean 'to target'"):
        select(made, "to taget")


def test_amounts():
    assert [amount(x) for x in (0, 812, 9_500, 812_345, 1_234_567, 2.5e10, math.nan)] == [
        "0", "812", "9.5k", "812k", "1.2M", "25G", "-",
    ]  # fmt: skip
