import pytest
import torch
from harness_papers.preference.depo_dual_efficiency import efficiency, steps_of

from harness import probe
from harness.policies.random import tiny_policy
from tests.batches import make_batch
from tests.papers.worked import group_loss

approx = pytest.approx


def test_the_bonus_worked_by_hand():
    batch = make_batch([1.0, 1.0, 1.0], lengths=[200, 10, 0]).with_extras(steps=torch.tensor([4, 1, 0]))
    assert efficiency(batch, 3.0, 3.0).tolist() == approx([0.81, 3.3, 0])


def test_an_efficient_completion_is_pushed_less_once_above_the_point():
    slopes = []
    for steps in (1, 4):
        _, gradient = group_loss("depo-dual-efficiency", [1.0, 0.0], [0.5, -0.5], steps=[steps, 1], lengths=[8, 8])
        slopes.append(abs(gradient[0]))
    assert slopes[0] < slopes[1]


def test_without_bonus_it_is_kto_and_long_trajectories_are_undesirable():
    plain = "depo-dual-efficiency(per_token=0, per_step=0, most_steps=0)"
    assert group_loss(plain, [1.0, 0.0], [0.4, -0.2])[0] == approx(
        group_loss("kto(beta=0.2)", [1.0, 0.0], [0.4, -0.2])[0]
    )
    _, gradient = group_loss("depo-dual-efficiency", [1.0, 1.0], [0.0, 0.0], steps=[6, 7], lengths=[8, 8])
    assert (gradient < 0).tolist() == [True, False]


def test_the_bonus_as_a_reward_is_of_right_answers():
    found = probe.rewards("depo-bonus", [1.0, 0.0], [0, 0], steps=[4, 4], lengths=[200, 200])
    assert found["efficiency"] == approx([0.81, 0])


def test_steps_are_counted_by_their_ends():
    policy = tiny_policy(seed=0, width=16, intermediate=32, characters="0123456789+=#;")
    ids = torch.tensor([policy.encode("1+1=2;#2"), policy.encode("#2######")])
    batch = make_batch([1.0, 1.0, 1.0], lengths=[8, 2, 0], completion_ids=torch.cat([ids, ids[:1]]))
    assert steps_of(batch, policy, ";")["steps"].tolist() == [2, 1, 0]
