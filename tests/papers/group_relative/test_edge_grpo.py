import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

MASK = [[1, 1], [1, 1], [1, 0], [1, 0]]
REWARDS = [1.0, 0.0, 0.0, 0.0]


def edge(entropy, **params):
    return advantages("edge-grpo", REWARDS, mask=MASK, entropy=entropy, params=params or None)


def test_equal_entropies_change_nothing():
    assert edge([[0.5, 0.5], [0.5, 0.5], [0.5, 7.0], [0.5, 7.0]]) == approx(advantages("grpo", REWARDS))


def test_half_the_entropy_is_twice_the_advantage():
    entropy = [[1.0, 1.0], [4.0, 2.0], [2.0, 0.0], [2.0, 0.0]]
    got = edge(entropy) / advantages("grpo", REWARDS)
    assert got.tolist() == approx([2, 2 / 3, 1, 1])
    summed = edge(entropy, average="sum") / advantages("grpo", REWARDS)
    assert summed.tolist() == approx([1.5, 0.5, 1.5, 1.5])


def test_no_entropy_at_all_and_bounds():
    assert edge([[0, 0]] * 4) == approx(advantages("grpo", REWARDS))
    tiny = [[1e-9, 1e-9], [1, 1], [1, 0], [1, 0]]
    assert edge(tiny, clamp=10.0)[0] == approx(15, abs=1e-3)
    with pytest.raises(HarnessError, match="entropy"):
        advantages("edge-grpo", REWARDS)
