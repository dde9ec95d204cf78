import pytest

from tests.papers.worked import surrogate


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"), [(1.5, 1, -1.489837), (3, 1, -2.523188), (0.5, -1, 0.701457), (1.5, -1, 1.5)]
)
def test_worked_values(ratio, advantage, loss):
    assert surrogate("discovered-po", ratio, advantage)[0] == pytest.approx(loss, abs=1e-5)


def test_at_ratio_1_it_is_the_policy_gradient():
    assert surrogate("discovered-po", 1.0, -0.7)[1] == pytest.approx(0.7)
    assert surrogate("discovered-po", 2.0, 0.0)[1] == 0
