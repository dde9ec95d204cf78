import math

import pytest

from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("dppo-preference(lam=0.5)", [1, 0], [-0.4, -0.2])
    assert loss == pytest.approx(math.log1p(math.exp(0.4 - 0.1)))
    chance = 1 / (1 + math.exp(-0.3))
    assert slope == pytest.approx([-chance, 0.5 * chance])


def test_edges():
    assert group_loss("dppo-preference(lam=0.0)", [1, 0], [-0.4, -0.2])[1][1] == 0
    assert group_loss("dppo-preference", [1, 1], [-0.4, -0.2])[0] == 0


def test_the_form_is_that_of_cpl():
    rewards, moved = [1, 0.5, 0], [-0.4, -0.2, -0.1]
    ours = group_loss("dppo-preference(lam=0.3)", rewards, moved)
    theirs = group_loss("cpl(alpha=1.0, lam=0.3, pairs='ordered')", rewards, moved)
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] == pytest.approx(theirs[1])
