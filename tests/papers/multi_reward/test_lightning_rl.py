from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.multi_reward.lightning_rl import LightningRL

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
FIELDS = {"group": [0] * 4, "max_tokens": 100}


def test_the_fastest_wrong_one_can_beat_the_correct_one():
    found = probe.advantages("lightning-rl", [1, 0, 0, 0], lengths=[8, 6, 4, 2], **FIELDS)
    raw = np.array([0.390, -1.025, -0.130, 0.764])
    assert found == approx((raw - raw.mean()) / raw.std(ddof=1), abs=2e-3)


def test_all_correct_leaves_speed_and_its_scale_does_not_matter():
    slow, fast = (
        probe.advantages("lightning-rl", [1] * 4, lengths=lengths, **FIELDS)
        for lengths in ([40, 30, 20, 10], [8, 6, 4, 2])
    )
    assert slow == approx(fast)
    assert (np.diff(slow) > 0).all()


def test_groups_without_a_right_answer_or_a_difference_leave():
    batch = make_batch([1, 0, 0, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2, 3], [2, 4, 2, 4, 3, 3, 1], max_tokens=20)
    assert LightningRL().keep(batch).tolist() == [True, True, False, False, False, False, True]
    assert not LightningRL(margin=18).keep(batch)[0]


def test_new_prompts_are_drawn_for_those_that_left():
    state = SimpleNamespace(prompts_per_step=3, draw=lambda n: ["new"] * n)
    batch = make_batch([1, 0, 0, 0], [0, 0, 1, 1], kept=torch.tensor([True, True, False, False]))
    assert LightningRL().next_round(batch, state) == ["new", "new"]
    assert LightningRL(dynamic=False).next_round(batch, state) is None


def test_the_anchor_is_the_likelihood_of_right_answers():
    fields = {"mask": [[1, 1], [1, 0]], "correct": [True, False], "max_tokens": 20}
    value, gradient = probe.regularizer("lightning-rl(beta=0)", logp=[[-1.0, -2.0], [-3.0, 0.0]], **fields)
    assert value == approx(0.1 * 1.5)
    assert gradient == approx(np.array([[-0.05, -0.05], [0, 0]]))
