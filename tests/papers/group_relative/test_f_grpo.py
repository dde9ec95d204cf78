import pytest

from tests.papers.worked import ONE_OF_FOUR, advantages, approx


@pytest.mark.parametrize(("gamma", "factor"), [(0.5, 0.3536), (1.0, 0.125)])
def test_seven_of_eight(gamma, factor):
    rewards = [1.0] * 7 + [0.0]
    focal = advantages("f-grpo", rewards, params={"gamma": gamma})
    assert focal == approx(factor * advantages("grpo(beta=0)", rewards), abs=1e-3)


def test_one_of_four_and_the_identity():
    assert advantages("f-grpo(gamma=1)", ONE_OF_FOUR).tolist() == approx([1.125, -0.375, -0.375, -0.375], abs=1e-5)
    assert advantages("f-grpo(gamma=0)", ONE_OF_FOUR) == approx(advantages("grpo", ONE_OF_FOUR))


def test_it_wraps_token_advantages_too():
    fields = {"mask": [[1, 1], [1, 0], [1, 1]], "greedy_reward": [0.0] * 3}
    plain = advantages("remax(beta=0)", [1.0, 0.0, 0.0], **fields)
    assert advantages("remax(beta=0)+f-grpo(gamma=1)", [1.0, 0.0, 0.0], **fields) == approx(2 / 3 * plain)
