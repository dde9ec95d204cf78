from __future__ import annotations

import json
import math

import pytest

from harness.leaderboard import read_trials
from harness.tracking.points import MOST_KEYS, MOST_POINTS, Point, thin, trial_points
from tests.leaderboard.fixtures import GRPO, write_trial


def points_of(tmp_path, **settings):
    write_trial(tmp_path, GRPO, 0, [0.2, 0.3, 0.4], **settings)
    return trial_points(read_trials(tmp_path)[0])


def test_curves_run_over_the_budget_not_over_steps(tmp_path):
    points = points_of(tmp_path)
    assert [(p.value, p.step) for p in points if p.key == "eval/math/pass_at_1"] == [(0.2, 0), (0.3, 500), (0.4, 1000)]
    assert [p.step for p in points if p.key == "train/loss"][:2] == [25, 50]


def test_seed_rows_never_carry_the_boards_own_keys(tmp_path):
    keys = {point.key for point in points_of(tmp_path)}
    assert not keys & {"score", "delta", "delta_low"}


def test_a_long_trial_is_thinned(tmp_path):
    points = points_of(tmp_path, steps=1200, metrics={f"m{i}": 1.0 for i in range(70)})
    assert len(points) <= MOST_POINTS
    assert len({point.key for point in points}) <= MOST_KEYS
    last = [point.step for point in points if point.key == "train/loss"]
    assert last == sorted(last)
    assert last[-1] > 900


def test_thinning_keeps_what_a_growing_trial_has_logged():
    whole = [Point("a", float(i), i) for i in range(0, 1001, 3)]
    early = thin(whole[:100], 20)
    assert thin(whole, 20)[: len(early)] == early
    assert len(thin(whole, 20)) <= 20


def test_what_is_not_finite_is_dropped_and_counted(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    lines = [
        {"step": 0, "progress": 0.5, "loss": math.nan, "grad_norm": math.inf, "flag": True, "note": "x", "reward": 1.0}
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    points = trial_points(read_trials(tmp_path)[0])
    assert all(math.isfinite(point.value) for point in points)
    assert {point.key for point in points if point.key.startswith("train/")} == {"train/reward"}
    assert [point.value for point in points if point.key == "health/nonfinite"] == [2.0]


def test_steps_without_progress_are_spread_evenly(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2, 0.4])
    (path / "metrics.jsonl").write_text(
        "".join(json.dumps({"step": i, "spent": i + 1.0, "x": 1.0}) + "\n" for i in range(4))
    )
    points = trial_points(read_trials(tmp_path)[0])
    assert [point.step for point in points if point.key == "train/x"] == [250, 500, 750, 1000]


def test_a_trial_without_anything(tmp_path):
    path = write_trial(tmp_path, GRPO, 0, [0.2], status="failed")
    for name in ("evaluations.jsonl", "metrics.jsonl", "ledger.json", "timing.jsonl"):
        (path / name).unlink()
    points = trial_points(read_trials(tmp_path)[0])
    assert points == [pytest.approx(Point("health/nonfinite", 0.0, 0))] or points == [Point("health/nonfinite", 0.0, 0)]
