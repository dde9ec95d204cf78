from __future__ import annotations

import math

import numpy as np
import pytest

from harness.leaderboard import board
from harness.leaderboard import statistics as st
from tests.leaderboard.fixtures import write_demo, write_trial


def test_spread_of_gaussian_seeds_is_their_deviation():
    scores = np.random.default_rng(0).normal(0.4, 0.03, (4000, 5))
    assert st.pooled_spread(scores) == pytest.approx(0.03, rel=0.02)


def test_spread_is_not_moved_by_what_methods_differ_in():
    scores = np.random.default_rng(1).normal(0, 0.03, (10, 5))
    assert st.pooled_spread(scores + np.arange(10)[:, None]) == pytest.approx(st.pooled_spread(scores))


def test_a_seed_far_below_its_siblings_is_found():
    scores = np.random.default_rng(2).normal(0.4, 0.02, (6, 5))
    assert not st.collapsed(scores).any()
    scores[3, 1] = 0.15
    assert np.argwhere(st.collapsed(scores)).tolist() == [[3, 1]]
    scores[4, 0] = 0.9  # far above is no collapse
    assert np.argwhere(st.collapsed(scores)).tolist() == [[3, 1]]


def test_missing_trials_and_short_rows_are_passed_over():
    scores = np.random.default_rng(3).normal(0.4, 0.02, (4, 5))
    scores[0, 2:] = math.nan
    scores[0, 0] = 0.0
    scores[1, 4] = math.nan
    scores[2] = math.nan
    assert not st.collapsed(scores).any()


@pytest.mark.parametrize("scores", [np.full((3, 5), 0.4), np.zeros((2, 1)), np.full((2, 4), math.nan)])
def test_nothing_to_judge_by(scores):
    assert not st.collapsed(scores).any()


def test_a_board_names_its_collapsed_seeds(tmp_path):
    write_demo(tmp_path)
    assert not [note for note in board(tmp_path).notes if "siblings" in note and "gspo" in note]
    write_trial(tmp_path, "gspo", 3, [0.25, 0.3, 0.0, 0.0, 0.0])
    [note] = [note for note in board(tmp_path).notes if "siblings" in note]
    assert "gspo (seed 3)" in note
