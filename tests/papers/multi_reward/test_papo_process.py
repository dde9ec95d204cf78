import pytest

from harness import probe
from harness.errors import HarnessError

approx = pytest.approx


def papo(correct, process, **params):
    rewards = list(zip(correct, process, strict=True))
    return probe.advantages("papo-process", rewards, [0] * 4, params=params, reward_names=["correct", "steps"])


def test_process_counts_among_the_correct():
    assert papo([1, 1, 1, 0], [0.9, 0.5, 0.1, 0.9]) == approx([1.5, 0.5, -0.5, -1.5], abs=1e-5)
    assert papo([1, 1, 1, 0], [0.9, 0.5, 0.1, 0.0]) == approx([1.5, 0.5, -0.5, -1.5], abs=1e-5)


def test_all_correct_leaves_the_process_and_all_wrong_nothing():
    assert papo([1, 1, 1, 1], [0, 1, 0, 1]) == approx([-0.866, 0.866, -0.866, 0.866], abs=1e-3)
    assert papo([0, 0, 0, 0], [0, 1, 0, 1]) == approx([0] * 4)


def test_one_correct_or_equal_scores_leave_the_outcome():
    outcome = probe.advantages("grpo(beta=0)", [1, 0, 0, 0], [0] * 4)
    assert papo([1, 0, 0, 0], [0.7, 0.1, 0.9, 0.2]) == approx(outcome)
    assert papo([1, 0, 0, 0], [None] * 4) == approx(outcome)
    assert papo([1, 1, 0, 0], [0.5, 0.5, 0, 1]) == approx(papo([1, 1, 0, 0], [0, 1, 0, 1], weight=0.0))


def test_a_task_without_the_column_is_named():
    with pytest.raises(HarnessError, match="no reward column 'steps' or 'quality'"):
        probe.advantages("papo-process", [1.0, 0.0], [0, 0])
