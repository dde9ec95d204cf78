import math

import pytest

from harness import probe
from tests.papers.worked import group_loss


def test_worked_example():
    loss, slope = group_loss("p3o(beta=0.0)", [1, 0], [0.1, -0.1])
    assert loss == pytest.approx(-0.5 * math.exp(0.1) + 0.5 * math.exp(-0.1))
    assert slope == pytest.approx([-0.5 * math.exp(0.1), 0.5 * math.exp(-0.1)])


def test_each_ratio_is_clipped_by_itself():
    _, slope = group_loss("p3o(beta=0.0)", [1, 0], [0.5, 0.5])
    assert slope == pytest.approx([0, 0.5 * math.exp(0.5)])


def test_no_shift_of_the_rewards_matters():
    first, second = (group_loss("p3o", rewards, [0.1, 0.0, -0.1]) for rewards in ([1, 0, 0.5], [11, 10, 10.5]))
    assert first[0] == pytest.approx(second[0])
    assert first[1] == pytest.approx(second[1])


def test_on_policy_it_is_rloo_with_two_completions():
    rewards, group = [1, 0, 0.2, 0.9], [0, 0, 1, 1]
    ours, theirs = (
        group_loss(stack, rewards, [0] * 4, group=group)[1] for stack in ("p3o(beta=0.0)", "rloo(beta=0.0)")
    )
    assert ours == pytest.approx(theirs)


def test_the_kl_is_part_of_the_reward():
    one = {"logp": [[0.0], [0.0]], "logp_old": [[0.0], [0.0]], "logp_ref": [[-1.0], [0.0]], "mask": [[1], [1]]}
    _, slope = probe.loss("p3o(beta=0.5)", rewards=[1, 0], group=[0, 0], **one)
    assert slope[:, 0] == pytest.approx([-0.25, 0.25])
