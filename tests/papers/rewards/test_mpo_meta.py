from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.mpo_meta import MPOMeta

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
NAMES = ("correct", "format")
EXPLOITED = [[1, 0], [1, 0.5], [0, 1], [0, 1]]  # wrong answers have the better format


def refined(rewards, steps=1, **params):
    plugin = MPOMeta(**{"every": 1, **params})
    plugin.start()
    batch = make_batch(rewards, reward_names=NAMES)
    plugin._rubric(batch)
    for _ in range(steps):
        plugin.end_step(batch, SimpleNamespace(step=0, generator=torch.Generator().manual_seed(0)))
    return plugin.points


def test_all_items_count_alike_at_first_and_over_what_applies():
    rewards = [[1, 0.5], [0, 0.5], [1, None]]
    assert probe.rewards("mpo-meta", rewards, [0] * 3)["rubric"] == approx([0.75, 0.25, 1])


def test_points_leave_what_wrong_answers_earn():
    assert refined(EXPLOITED) == {"correct": 4, "format": 2}
    assert refined(EXPLOITED, steps=9) == {"correct": 5, "format": 0}


def test_an_exploit_loses_its_reward():
    plugin = MPOMeta(every=1)
    plugin.start()
    plugin.points = refined(EXPLOITED, steps=9)
    worth = plugin._rubric(make_batch([[0, 1]], reward_names=NAMES))
    assert float(worth @ torch.tensor([0.0, 1.0], dtype=torch.float64)) == 0


def test_nothing_is_refined_without_both_kinds_or_without_the_meta_judge():
    assert refined([[1, 0], [1, 1]]) == refined(EXPLOITED, every=0) == {"correct": 3, "format": 3}
