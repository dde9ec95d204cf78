import pytest

from harness import probe
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_the_baseline_is_the_mean_of_the_batch():
    assert advantages("reinforce", ONE_OF_FOUR).tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages("reinforce(leave_one_out=True)", ONE_OF_FOUR).tolist() == approx([1, -1 / 3, -1 / 3, -1 / 3])
    assert advantages("reinforce(scale=True)", ONE_OF_FOUR).tolist() == approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)
    both = advantages("reinforce(scale=True, leave_one_out=True)", ONE_OF_FOUR)
    assert both.tolist() == approx([2, -2 / 3, -2 / 3, -2 / 3], abs=1e-5)


def test_it_compares_prompts_and_grpo_does_not():
    rewards, group = [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1]
    assert advantages("reinforce", rewards, group).tolist() == [0.5, 0.5, -0.5, -0.5]
    assert advantages("grpo", rewards, group).tolist() == [0.0, 0.0, 0.0, 0.0]


def test_no_ratio_and_a_completion_is_one_action():
    _, gradient = probe.token_loss("reinforce", logp=[[1.1]], logp_old=[[0.0]], advantages=[1.0], mask=[[1]])
    assert gradient[0, 0] == -1.0
    assert probe.weights("reinforce", [[1, 1, 0, 0], [1, 1, 1, 1]]).sum() == approx(3)


@pytest.mark.parametrize("options", ["", "leave_one_out=True", "scale=True", "scale=True, leave_one_out=True"])
def test_equal_rewards_give_nothing(options):
    assert not advantages(f"reinforce({options})", [0.3] * 3).any()
    assert not advantages(f"reinforce({options})", [0.3]).any()
