import pytest

from harness import probe

approx = pytest.approx


def efficient(correct, lengths, **params):
    group = [0] * len(lengths)
    return probe.rewards("efficient-length", correct, group, params=params, lengths=lengths)["efficient_length"]


def test_long_right_answers_earn_less():
    assert efficient([1, 1], [100, 300]) == approx([0.8679, 0.7321], abs=1e-4)


def test_wrong_answers_earn_nothing_and_set_no_standard():
    assert efficient([1, 1, 0], [100, 300, 5000]) == approx([0.8679, 0.7321, 0], abs=1e-4)


def test_one_right_answer_has_nobody_to_be_compared_with():
    assert efficient([1, 0], [100, 7]) == approx([0.8, 0])
    assert efficient([1, 0], [100, 7], single="full") == approx([0.6, 0])
    assert efficient([1, 1], [7, 7]) == approx([0.8, 0.8])
