import pytest

from tests.papers.worked import surrogate


@pytest.mark.parametrize("method", ["spo-simple", "cfpo"])
@pytest.mark.parametrize(("ratio", "loss", "slope"), [(0.8, -0.7, -2), (1.0, -1.0, -1), (1.2, -1.1, 0), (1.4, -1.0, 1)])
def test_the_penalty_turns_the_gradient_round_beyond_the_bound(method, ratio, loss, slope):
    assert surrogate(method, ratio, 1.0) == pytest.approx((loss, slope * ratio), abs=1e-9)


def test_negative_advantages_mirror_it():
    assert surrogate("spo-simple", 0.8, -1.0)[1] == pytest.approx(0, abs=1e-9)
    assert surrogate("spo-simple(eps=0.5)", 0.5, -3.0)[1] == pytest.approx(0, abs=1e-9)
    assert surrogate("spo-simple", 1.3, 0.0) == (0, 0)
