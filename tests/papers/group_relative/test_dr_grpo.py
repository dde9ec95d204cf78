import numpy as np

from harness import probe
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

MASK = [[1, 1, 0, 0], [1, 1, 1, 1]]
LOSSES = np.array([[1.0, 1.0, 0, 0], [0.5, 0.5, 0.5, 0.5]])


def test_centred_and_not_scaled():
    assert advantages("dr-grpo", ONE_OF_FOUR).tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages("dr-grpo", [0.3] * 3).tolist() == [0, 0, 0]
    assert advantages("dr-grpo", [0.3]).tolist() == [0]


def test_the_token_sum_over_a_constant():
    assert (probe.weights("dr-grpo", MASK) * LOSSES).sum() == approx(0.5)
    assert (probe.weights("dr-grpo(length=8)", MASK) * LOSSES).sum() == approx(0.25)


def test_twice_the_length_is_twice_the_loss():
    short, long = [[1, 0, 0, 0], [1, 1, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 1]]
    doubled = probe.weights("dr-grpo", long).sum() / probe.weights("dr-grpo", short).sum()
    assert doubled == approx(2)
    assert probe.weights("grpo", long).sum() == approx(probe.weights("grpo", short).sum())


def test_the_constant_is_not_the_padded_width():
    padded = [[*row, 0, 0, 0] for row in MASK]
    narrow = probe.weights("dr-grpo", MASK, max_tokens=40)
    assert probe.weights("dr-grpo", padded, max_tokens=40)[:, :4] == approx(narrow)
