import pytest
from harness_papers.multi_reward.parrot import undominated

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
MIXED = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.4, 0.4]]


def front(rewards, group=None):
    return undominated(make_batch(rewards, group)).tolist()


def test_the_front_worked_by_hand():
    assert front(MIXED) == [True, True, True, False]
    assert front([[x**3, 10 * y] for x, y in MIXED]) == [True, True, True, False]
    assert front([[0.5, 0.5]] * 3) == [True] * 3
    assert front([1.0, 0.2, 1.0]) == [True, False, True]
    assert front([1.0, 0.2], [0, 1]) == [True, True]


def test_only_the_front_gets_gradient_over_its_own_size():
    base = probe.advantages("dr-grpo", MIXED, [0] * 4)
    found = probe.advantages("dr-grpo+parrot", MIXED, [0] * 4)
    assert found == approx([*(base[:3] * 4 / 3), 0])
    assert found.sum() != approx(0)
