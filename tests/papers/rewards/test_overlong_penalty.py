import pytest

from harness import probe


def penalty(lengths, **params):
    found = probe.rewards("overlong-penalty", [1.0] * len(lengths), None, params=params, lengths=lengths)
    return found.get("overlong_penalty")


def test_linear_over_the_buffer_then_flat():
    lengths = [80, 90, 100, 101]
    assert penalty(lengths, limit=100) == pytest.approx([0, -0.5, -1, -1])
    assert penalty(lengths, limit=100, floor=False) == pytest.approx([0, -0.5, -1, -1.05])


def test_the_limit_is_the_suites_and_no_buffer_no_penalty():
    assert penalty([5, 10]) == pytest.approx([0, -1])
    assert penalty([5, 10], buffer=0.0).tolist() == [0, 0]
    assert penalty([5, 10], weight=0.0) is None
