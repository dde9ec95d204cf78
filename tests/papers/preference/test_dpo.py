import math

import pytest

from harness.errors import HarnessError
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("dpo(beta=0.5)", [1, 0], [0.4, -0.2])
    assert loss == pytest.approx(math.log1p(math.exp(-0.3)))
    assert slope == pytest.approx([-0.5 / (1 + math.exp(0.3)), 0.5 / (1 + math.exp(0.3))])
    assert group_loss("dpo", [1, 0], [0, 0])[0] == pytest.approx(math.log(2))


def test_wrong_labels_pull_back():
    _, slope = group_loss("dpo(smoothing=0.5)", [1, 0], [0, 0])
    assert slope == pytest.approx([0, 0])


def test_which_pairs():
    rewards, moved = [1.0, 0.5, 0.0], [0.0, 3.0, 0.0]
    assert group_loss("dpo", rewards, moved)[1][1] == 0
    assert group_loss("dpo(pairs='ordered')", rewards, moved)[1][1] != 0
    with pytest.raises(HarnessError, match="expected one of"):
        group_loss("dpo(pairs='best')", rewards, moved)


def test_small_differences_can_be_left_out():
    rewards, moved = [1.0, 0.1, 0.0], [0.3, 0.2, 0.1]
    slope = group_loss("dpo(pairs='ordered', margin=0.5)", rewards, moved)[1]
    assert slope[0] == pytest.approx(-slope[1] - slope[2])
    assert group_loss("dpo(margin=2.0)", rewards, moved)[0] == 0


def test_ties_are_no_pair():
    loss, slope = group_loss("dpo", [1, 1], [0.4, 0.0])
    assert loss == 0
    assert slope == pytest.approx([0, 0])
    alone = group_loss("dpo", [1, 0, 1], [0.4, 0.0, 0.9], group=[0, 0, 1])
    assert alone[0] == pytest.approx(group_loss("dpo", [1, 0], [0.4, 0.0])[0])
