import pytest

from harness import probe

approx = pytest.approx
NAMES = ("correct", "brevity")
ROWS = [[1, 0.2], [1, 0.9], [0, 1]]


def win_rate(rewards=ROWS, group=None, **params):
    fields = {"reward_names": NAMES, "params": params}
    return probe.rewards("heron", rewards, [0] * len(rewards) if group is None else group, **fields)["win_rate"]


def test_brevity_never_outranks_correctness():
    assert win_rate() == approx([0.5, 1, 0])
    assert win_rate([[x, y**5] for x, y in ROWS]) == approx([0.5, 1, 0])
    assert win_rate(order=("brevity",)) == approx([0, 0.5, 1])


def test_within_the_margin_the_next_column_decides():
    assert win_rate(margins=(2.0,)) == approx([0, 0.5, 1])
    assert win_rate(margins=(2.0, 2.0)) == approx([0.5] * 3)


def test_groups_are_apart_and_one_alone_is_a_tie():
    assert win_rate([[1, 0], [0, 0], [1, 1], [0, 1], [0, 0.5]], [0, 0, 1, 1, 2]) == approx([1, 0, 1, 0, 0.5])
    assert win_rate([[1, None], [1, 0.5]]) == approx([0.5, 0.5])
