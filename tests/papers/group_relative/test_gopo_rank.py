import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx


def test_eight_ranks():
    got = advantages("gopo-rank", [8, 7, 6, 5, 4, 3, 2, 1])
    assert got.tolist() == approx([2, 1.4286, 0.8571, 0.2857, -0.2857, -0.8571, -1.4286, -2], abs=1e-4)


def test_increasing_maps_change_nothing():
    rewards = np.array([0.3, -1.0, 2.0, 0.4, 1.1])
    assert advantages("gopo-rank", np.exp(rewards)) == approx(advantages("gopo-rank", rewards))


def test_ties_share_their_ranks_or_are_broken_by_order():
    assert advantages("gopo-rank", [1.0, 0.0, 0.0, 0.0]).tolist() == approx([2, -2 / 3, -2 / 3, -2 / 3])
    assert advantages("gopo-rank", [0.3] * 3).tolist() == [0, 0, 0]
    assert advantages("gopo-rank(ties='order')", [0.3] * 3).tolist() == [-2, 0, 2]
    assert advantages("gopo-rank", [0.3, 0.3, 1.0, 0.5], [0, 0, 1, 2]).tolist() == [0, 0, 0, 0]
    with pytest.raises(HarnessError, match="'mean'"):
        advantages("gopo-rank(ties='none')", [0.3])
