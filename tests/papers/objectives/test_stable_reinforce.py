import math

import numpy as np
import pytest

from harness import probe
from tests.papers.worked import surrogate


def test_outliers_count_for_nothing():
    rewards = [1.0] + [0.0] * 19
    plain = probe.advantages("stable-reinforce(sigma=9.0)", rewards, range(20))
    assert plain[0] == pytest.approx(math.sqrt(19))
    found = probe.advantages("stable-reinforce", rewards, range(20))
    assert found[0] == 0
    assert found[1:] == pytest.approx([-1 / math.sqrt(19)] * 19)
    assert probe.advantages("stable-reinforce", [0.3] * 3, [0, 1, 2]) == pytest.approx([0] * 3)


def test_log_ratios_are_bounded():
    assert surrogate("stable-reinforce", math.exp(8), -1.0) == pytest.approx((1e3, 0.0))
    assert surrogate("stable-reinforce", 1.1, -1.0) == pytest.approx((1.1, 1.1))
    assert surrogate("stable-reinforce", 1.5, 1.0) == pytest.approx((-1.2, 0.0))


def test_completions_weigh_the_same():
    weights = probe.weights("stable-reinforce", [[1, 1], [1, 0]])
    assert weights == pytest.approx(np.array([[0.25, 0.25], [0.5, 0]]))
