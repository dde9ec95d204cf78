import pytest

from tests.papers.worked import group_loss


def test_worked_example():
    assert group_loss("rebel", [1, 0], [0.2, -0.1])[0] == pytest.approx(0.49)
    assert group_loss("rebel(eta=2.0)", [1, 0], [0.2, -0.1])[0] == pytest.approx((0.15 - 1) ** 2)
    assert group_loss("rebel(eta=2.0, divide=False)", [1, 0], [0.2, -0.1])[0] == pytest.approx((0.3 - 2) ** 2)


def test_all_pairs_are_gvpo_up_to_a_factor():
    """The mean over pairs is twice the sample variance of the residuals; GVPO has half of it."""
    rewards, moved = [1, 0, 0.5, 0], [0.3, -0.2, 0.1, 0.7]
    rebel, gvpo = (group_loss(method, rewards, moved) for method in ("rebel(eta=4.0)", "gvpo(beta=0.25)"))
    assert rebel[0] == pytest.approx(4 * gvpo[0])
    assert rebel[1] == pytest.approx(4 * gvpo[1])


def test_edges():
    assert group_loss("rebel", [1], [0.4])[0] == 0
    loss, slope = group_loss("rebel", [1, 1], [0.4, 0.0])
    assert loss == pytest.approx(0.16)
    assert slope == pytest.approx([0.8, -0.8]), "equal rewards draw log-ratios together"
