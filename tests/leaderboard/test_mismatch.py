"""What a board notes of engines that sample from another distribution than the learner's."""

import pytest

from harness.leaderboard import board
from harness.leaderboard.mismatch import mismatch_notes
from harness.leaderboard.trials import Trial
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


def trial(method, gap, share, **sampler):
    steps = [{"step": i, "logp_gap": gap + 0.01 * (i - 1), "ess_rows": share} for i in range(3)]
    return Trial(None, method, 0, {"config": {"sampler": {"engine": "vllm", **sampler}}}, {"metrics.jsonl": steps})


def test_a_gap_or_few_effective_completions_are_noted():
    fine, far, few = trial("fine", 0.04, 0.9), trial("far", 0.3, 0.6), trial("few", 0.02, 0.4)
    (note,) = mismatch_notes([fine, far, few])
    assert "far (0.30 nats a token, 60% of completions effective), few (0.02" in note
    assert "fine" not in note
    assert "1 more" in mismatch_notes([trial(str(i), 1.0, 0.1) for i in range(4)])[0]


@pytest.mark.parametrize("sampler", [{"engine": "builtin"}, {"lag": 2}])
def test_the_built_in_sampler_and_lag_are_not(sampler):
    assert mismatch_notes([trial("far", 3.0, 0.1, **sampler)]) == []


def test_trials_that_logged_neither_are_not():
    assert mismatch_notes([trial("far", float("nan"), float("nan"))]) == []


def test_a_board_of_the_built_in_sampler_has_no_such_note(tmp_path):
    for seed in range(2):
        write_trial(tmp_path, GRPO, seed, [0.2, 0.3], metrics={"logp_gap": 5.0, "ess_rows": 0.01})
    write_suite(tmp_path, [GRPO], 2)
    assert not any("another distribution" in note for note in board(tmp_path).notes)
