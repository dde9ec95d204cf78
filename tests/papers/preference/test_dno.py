import math

import pytest

from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("dno(eta=0.5)", [1, 0], [0.4, 0.0])
    share, chance = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-0.2))
    assert loss == pytest.approx(-share * math.log(chance) - (1 - share) * math.log(1 - chance))
    assert slope == pytest.approx([0.5 * (chance - share), 0.5 * (share - chance)])


def test_equal_win_rates_draw_together():
    _, slope = group_loss("dno", [1, 1], [0.4, 0.0])
    assert slope[0] > 0 > slope[1]


def test_only_clear_pairs_and_then_it_is_dpo():
    rewards, moved = [1, 0.5, 0], [0.2, 0.1, 0.0]
    ours, theirs = (group_loss(stack, rewards, moved) for stack in ("dno(margin=0.9)", "dpo"))
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] == pytest.approx(theirs[1])
    assert group_loss("dno(margin=1.1)", rewards, moved)[0] == 0
