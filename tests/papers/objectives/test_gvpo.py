import pytest

from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("gvpo", [1, 0], [1.0, -1.0])
    assert loss == pytest.approx(0.16)
    assert slope == pytest.approx([0.1 * (0.1 - 0.5), 0.1 * (-0.1 + 0.5)])


def test_the_optimum_is_the_tilted_policy():
    loss, slope = group_loss("gvpo(beta=0.5)", [1, 0, 0], [2.0, 0.0, 0.0])
    assert loss == pytest.approx(0)
    assert slope == pytest.approx([0, 0, 0])


def test_groups_of_one_add_nothing_and_prompts_are_averaged_or_summed():
    rewards, moved, group = [1, 0, 1, 0, 1], [1.0, -1.0, 1.0, -1.0, 3.0], [0, 0, 1, 1, 2]
    assert group_loss("gvpo", rewards, moved, group)[0] == pytest.approx(0.32 / 3)
    assert group_loss("gvpo(average=False)", rewards, moved, group)[0] == pytest.approx(0.32)
    assert group_loss("gvpo(anchor='reference')", rewards, moved, group)[0] == pytest.approx(0.32 / 3)
