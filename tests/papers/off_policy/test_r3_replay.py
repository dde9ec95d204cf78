from types import SimpleNamespace

import pytest
import torch
from harness_papers.off_policy.r3_replay import R3Replay

from harness import PromptRecord, probe
from tests.batches import make_batch

approx = pytest.approx


def started(**params):
    plugin = R3Replay(**params)
    plugin.start(None, SimpleNamespace())
    return plugin


def step(plugin, number, rewards, keys):
    prompts = tuple(PromptRecord(key, "", "t") for key in keys)
    group = [sorted(set(keys)).index(key) for key in keys]
    batch = make_batch(rewards, group, prompts=prompts)
    return plugin.augment(batch, SimpleNamespace(step=number))


def test_a_group_without_contrast_recalls_the_opposite():
    plugin = started()
    assert len(step(plugin, 0, [1.0, 0.0, 0.0], "aab")) == 3
    grown = step(plugin, 5, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0], "aabbcc")
    joined = grown[grown.extras["recalled"]]
    assert [record.key for record in joined.prompts] == ["a", "b"]
    assert joined.correct.tolist() == [True, False]
    assert joined.prompt.tolist() == [0, 1]
    assert joined.age.tolist() == [5, 5]
    assert joined.rollout.tolist() == [2, 4]
    assert grown.groups.count(expand=False).tolist() == [3, 3, 2]


def test_mixed_groups_recall_nothing_and_memory_is_bounded():
    plugin = started()
    for number in range(3):
        assert len(step(plugin, number, [1.0, 0.0], "aa")) == 2
    assert [len(plugin.right[0]), len(plugin.wrong[0])] == [1, 1]
    plugin = started(count=2)
    for number in range(3):
        step(plugin, number, [1.0, 0.0], "aa")
    assert len(step(plugin, 3, [0.0, 0.0], "aa")) == 4


def test_recalled_rows_shape_the_statistics_and_train_less():
    fields = {"recalled": [False, False, True]}
    base = probe.advantages("grpo(beta=0)", [0.0, 0.0, 1.0], [0] * 3)
    assert probe.advantages("r3-replay", [0.0, 0.0, 1.0], [0] * 3, **fields) == approx(base * [1, 1, 0.5])
    assert probe.advantages("r3-replay(alpha=0)", [0.0, 0.0, 1.0], [0] * 3, **fields) == approx(base * [1, 1, 0])


def test_the_memory_can_be_filled_before_the_first_step():
    asked = {}
    rollout = lambda prompts, n: asked.update(prompts=prompts, n=n) or make_batch([1.0, 0.0])  # noqa: E731
    state = SimpleNamespace(pool=SimpleNamespace(at_step=lambda _, count: ["k"] * count), group_size=4)
    plugin = R3Replay(prefill=3)
    plugin.start(SimpleNamespace(rollout=rollout), state)
    assert asked == {"prompts": ["k"] * 3, "n": 4}
    assert torch.equal(plugin.right[0].correct, torch.tensor([True]))
