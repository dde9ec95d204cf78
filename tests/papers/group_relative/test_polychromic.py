from itertools import combinations

import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx


def by_subsets(rewards, answers, n):
    sets = [
        (subset, np.mean([rewards[i] for i in subset]) * len({answers[i] for i in subset}) / n)
        for subset in combinations(range(len(rewards)), n)
    ]
    everything = np.mean([score for _, score in sets])
    return [np.mean([score for subset, score in sets if i in subset]) - everything for i in range(len(rewards))]


def test_pairs_of_three():
    got = advantages("polychromic(size=2)", [1.0, 0.0, 0.0], answers=[0, 1, 1])
    assert got.tolist() == approx([1 / 6, -1 / 12, -1 / 12])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_closed_form_is_the_mean_over_subsets(size):
    rewards, answers = [1.0, 0.2, 0.0, 0.7, 1.0, 0.4], [3, 3, 5, 6, 6, 6]
    got = advantages("polychromic", rewards, answers=answers, params={"size": size})
    assert got.tolist() == approx(by_subsets(rewards, answers, size))


def test_a_set_is_smaller_than_the_group():
    rewards, answers = [1.0, 0.0, 0.0], [1, 2, 2]
    assert advantages("polychromic(size=9)", rewards, answers=answers).tolist() == approx([1 / 6, -1 / 12, -1 / 12])


def test_edges():
    assert not advantages("polychromic", [0.0] * 5, answers=[1, 2, 3, 4, 5]).any()
    assert advantages("polychromic", [1.0] * 5, answers=[1] * 5).tolist() == approx([0] * 5, abs=1e-15)
    assert advantages("polychromic", [1.0], answers=[1]).tolist() == [0]
    rewards = [0.3, 0.9, 0.1]
    assert advantages("polychromic(size=1)", rewards) == approx(advantages("dr-grpo", rewards))
    with pytest.raises(HarnessError, match="at least one"):
        advantages("polychromic(size=0)", rewards)
