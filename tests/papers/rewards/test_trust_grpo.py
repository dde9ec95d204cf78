import pytest

from harness import probe

approx = pytest.approx


def trusted(correct, thinking, **params):
    rewards = list(zip(correct, thinking, strict=True))
    fields = {"params": params, "reward_names": ["correct", "steps"]}
    return probe.rewards("trust-grpo", rewards, [0] * len(rewards), **fields)["trusted"]


def test_a_judge_that_prefers_the_wrong_is_trusted_less():
    assert trusted([1, 0], [0.4, 0.9]) == approx([1.0728, 0.1638], abs=1e-4)
    assert trusted([1, 0], [0.9, 0.4]) == approx([1.27, 0.12])


def test_groups_that_agree_keep_the_verdict():
    assert trusted([1, 1], [0.2, 0.9]).tolist() == [1, 1]
    assert trusted([0, 0], [0.2, None]).tolist() == [0, 0]


def test_a_judge_not_asked_about_wrong_answers_is_always_trusted():
    assert trusted([1, 0], [0.4, 0.9], judge_wrong=False) == approx([1.12, 0])
