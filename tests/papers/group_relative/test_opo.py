import numpy as np

from tests.papers.worked import advantages, approx


def test_the_baseline_weighs_by_length():
    assert advantages("opo", [1.0, 0.0], lengths=[1, 3]).tolist() == approx([0.75, -0.25])


def test_what_sums_to_zero_is_weighted_by_length():
    rewards, lengths = [0.3, 1.0, -0.5, 0.0], [5, 1, 2, 7]
    assert advantages("opo", rewards, lengths=lengths) @ np.array(lengths) == approx(0, abs=1e-12)


def test_equal_lengths_are_dr_grpo():
    rewards = [0.3, 1.0, -0.5, 0.0]
    assert advantages("opo", rewards, lengths=[2] * 4) == approx(advantages("dr-grpo", rewards))


def test_edges():
    assert advantages("opo", [0.3] * 3, lengths=[1, 5, 2]).tolist() == [0, 0, 0]
    assert advantages("opo", [0.7], lengths=[2]).tolist() == [0]
    assert advantages("opo(single='raw')", [0.7], lengths=[2]).tolist() == [0.7]
    assert advantages("opo", [1.0, 0.0], mask=[[0, 0], [0, 0]]).tolist() == [0.5, -0.5]
