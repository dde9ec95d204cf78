import pytest

from harness import probe
from harness.errors import HarnessError

approx = pytest.approx


def ddca(correct, lengths, **params):
    return probe.advantages("ddca", correct, [0] * len(correct), params=params, lengths=lengths)


def test_worked_by_hand():
    assert ddca([1, 1, 0, 0], [100, 300, 200, 400]) == approx([1.0231, 0.9769, -1, -1], abs=1e-4)
    assert ddca([1, 1, 1, 1], [100, 200, 300, 400]) == approx([0.0586, 0.0220, -0.0220, -0.0586], abs=1e-4)
    assert ddca([1, 1, 0, 0], [100, 300, 200, 400], dynamic=False) == approx([1.0462, 0.9538, -1, -1], abs=1e-4)


def test_lengths_of_wrong_completions_change_nothing():
    plain = ddca([1, 1, 0, 0], [10, 30, 20, 40])
    assert ddca([1, 1, 0, 0], [10, 30, 1, 400]) == approx(plain)


def test_edges():
    assert ddca([0, 0, 0, 0], [1, 2, 3, 4]) == approx([0] * 4)
    assert ddca([1, 1, 0, 0], [5, 5, 3, 4]) == approx([1, 1, -1, -1])
    assert ddca([1, 0, 0, 0], [5, 1, 3, 4], baseline="others") == approx([1, -1 / 3, -1 / 3, -1 / 3])
    with pytest.raises(HarnessError, match="'group', 'others'"):
        ddca([1, 0], [1, 1], baseline="rloo")
