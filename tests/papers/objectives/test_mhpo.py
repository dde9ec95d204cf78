import math

import pytest

from tests.papers.worked import surrogate


@pytest.mark.parametrize(("ratio", "factor"), [(1, 0.26506), (2, 0.48018), (0.5, 0.06689), (10, 0.48381)])
def test_what_takes_the_place_of_the_ratio(ratio, factor):
    loss, gradient = surrogate("mhpo", ratio, 1.0)
    assert loss == pytest.approx(-factor, abs=2e-5)
    assert gradient == pytest.approx(loss / math.cosh(math.log(ratio) / 1.5) ** 2)


def test_it_is_linear_in_the_advantage_and_bounded():
    assert surrogate("mhpo", 3, -2.0)[1] == pytest.approx(-2 * surrogate("mhpo", 3, 1.0)[1])
    assert surrogate("mhpo", 3, 0.0) == (0, 0)
    assert abs(surrogate("mhpo", 1e8, 1.0)[1]) < 1e-5
