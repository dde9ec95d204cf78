import pytest

from harness import probe

approx = pytest.approx


def cosine(correct, lengths, **fields):
    params = fields.pop("params", {})
    found = probe.rewards("cosine-length", correct, None, params=params, lengths=lengths, max_tokens=100, **fields)
    return found["cosine_length"]


def test_short_is_better_if_right_and_worse_if_wrong():
    assert cosine([1, 1, 1], [0, 50, 100]) == approx([2, 1.5, 1])
    assert cosine([0, 0, 0], [0, 50, 100]) == approx([-10, -5, 0])


def test_the_limit_has_a_price_of_its_own():
    cut = {"truncated": [True, False, False]}
    assert cosine([0, 1, 1], [100, 84, 83], params={"tolerance": 16}, **cut)[:2] == approx([-10, -10])
    assert cosine([0, 1, 1], [100, 84, 83], params={"tolerance": 16}, **cut)[2] > 1
    assert cosine([0, 1, 1], [100, 84, 83], params={"exceeded": None}, **cut)[0] == approx(0)


def test_beyond_the_limit_is_the_limit():
    assert cosine([1, 1], [200, 100], params={"limit": 100}) == approx([1, 1])
