import numpy as np

from tests.papers.worked import ONE_OF_FOUR, advantages, approx

MASK = [[1, 1], [1, 0], [1, 1], [1, 1]]


def test_outcomes_without_discount_are_grpo():
    got = advantages("grpo-discounted(gamma=1)", ONE_OF_FOUR, mask=MASK)
    assert got[:, 0] == approx(advantages("grpo", ONE_OF_FOUR))
    assert got[0, 1] == approx(got[0, 0])


def test_tokens_by_their_returns():
    rewards = [[0.0, 1.0], [1.0, 0.0]]
    got = advantages("grpo-discounted", None, [0, 0], token_rewards=rewards, mask=[[1, 1], [1, 1]])
    # Returns [0.5, 1] and [1, 0]; mean and std of 0.5 and 1.
    assert got == approx((np.array([[0.5, 1.0], [1.0, 0.0]]) - 0.75) / (0.5 / 2**0.5), abs=1e-4)
    plain = advantages("grpo-discounted(scale=False)", None, [0, 0], token_rewards=rewards, mask=[[1, 1], [1, 1]])
    assert plain.tolist() == [[-0.25, 0.25], [0.25, -0.75]]


def test_edges():
    assert not advantages("grpo-discounted(gamma=1)", [0.3] * 4, mask=MASK).any()
    assert advantages("grpo-discounted", [1.0], mask=[[1, 1]])[0].tolist() == approx([0, 0.5], abs=1e-5)
    empty = advantages("grpo-discounted", [1.0, 0.0, 9.0], mask=[[1], [1], [0]])
    assert empty[:2, 0].tolist() == approx([0.5**0.5, -(0.5**0.5)], abs=1e-4)
