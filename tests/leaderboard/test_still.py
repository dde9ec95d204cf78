"""What a board notes of methods that never moved the policy."""

from harness.leaderboard import board
from harness.leaderboard.still import still_notes
from harness.leaderboard.trials import Trial
from tests.leaderboard.fixtures import GRPO, write_suite, write_trial


def trial(method, *norms, seed=0, ended=True):
    steps = [{"step": i} if norm is None else {"step": i, "grad_norm": norm} for i, norm in enumerate(norms)]
    status = {"status": "done" if ended else "interrupted"}
    return Trial(None, method, seed, {}, {"metrics.jsonl": steps, "result.json": status})


def test_a_method_whose_gradient_was_always_0_is_noted():
    trials = [trial("still", 0.0, 0.0), trial("still", 0, seed=1), trial("late", 0.0, 1e-9), trial("nan", float("nan"))]
    (note,) = still_notes(trials)
    assert note.startswith("never trained: still; the gradient was 0 in every step")
    assert still_notes([trial("still", 0.0), trial("still", 0.5, seed=1)]) == []
    assert "and 1 more" in still_notes([trial(str(i), 0.0) for i in range(4)])[0]


def test_what_did_not_end_or_logged_no_gradient_is_not_judged():
    assert still_notes([trial("interrupted", 0.0, ended=False), trial("other", None), trial("none")]) == []


def test_a_board_says_it(tmp_path):
    for seed in range(2):
        write_trial(tmp_path, GRPO, seed, [0.2, 0.2], metrics={"grad_norm": 0.0})
    write_suite(tmp_path, [GRPO], 2)
    assert any(note.startswith("never trained: grpo") for note in board(tmp_path).notes)
