import math

import torch
from harness_papers.group_relative.tmn_reweight import TMNReweight

from harness import PromptRecord
from tests.batches import make_batch
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_one_hard_prompt():
    plain = advantages("tmn-reweight(strength=0)", ONE_OF_FOUR)
    assert plain == approx(advantages("grpo", ONE_OF_FOUR))
    factors = (advantages("tmn-reweight(mix=1)", ONE_OF_FOUR) / plain).tolist()
    assert factors == approx([math.exp(0.25), *[math.exp(-0.25)] * 3])


def test_groups_of_the_same_spread_are_grpo():
    rewards, group = [1.0, 0.0, 2.0, 1.0], [0, 0, 1, 1]
    got = advantages("tmn-reweight(strength=0)", rewards, group)
    assert got == approx(advantages("grpo", rewards, group))


def test_every_task_has_a_scale_of_its_own():
    tasks = "aabb"
    records = tuple(PromptRecord(key=str(i), text="", task=task) for i, task in enumerate(tasks))
    batch = make_batch([1.0, 0.0, 100.0, 0.0], [0, 0, 1, 1], prompts=records)
    got = TMNReweight(strength=0.0).estimate_advantages(batch)
    assert got.tolist() == approx([0.5**0.5, -(0.5**0.5)] * 2, abs=1e-5)
    mixed = make_batch([1.0, 0.0, 100.0, 0.0], [0, 0, 1, 1])
    one = mixed.replace(prompts=tuple(PromptRecord(key=str(i), text="", task="a") for i in range(4)))
    scale = ((0.5 + 5000) / 2) ** 0.5
    assert TMNReweight(strength=0.0).estimate_advantages(one).tolist() == approx(
        torch.tensor([0.5, -0.5, 50, -50]).div(scale).tolist(), abs=1e-5
    )


def test_edges():
    assert not advantages("tmn-reweight", [0.3] * 3).any()
    assert not advantages("tmn-reweight", [0.3, 0.9], [0, 1]).any()
