from types import SimpleNamespace

import pytest
from harness_papers.group_relative.pipo_retro import PIPORetro

from tests.batches import make_batch
from tests.papers.worked import approx


class Learner:
    """Notes what it was asked to train on."""

    def __init__(self):
        self.asked = []

    def backward(self, batch):
        self.asked.append(batch.advantages[:, 0].tolist())

    def step(self):
        self.asked.append("step")

    def with_start(self, batch):
        return batch


def update(plugin, learner, rewards):
    batch = make_batch(rewards)
    batch = batch.replace(advantages=batch.groups.standardize(batch.reward)[:, None])
    hook = plugin.update(learner, batch)
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send({"loss": 1.0})
    assert end.value.value == {"loss": 1.0}


def started(**params):
    plugin = PIPORetro(**params)
    plugin.start()
    return plugin


def test_a_step_that_helped_is_repeated():
    plugin, learner = started(most=9.0), Learner()
    for rewards in ([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]):
        update(plugin, learner, rewards)
    assert learner.asked == []
    update(plugin, learner, [1.0, 1.0, 1.0, 0.0])
    # History 1/4, 1/2, 1/4; xi = (3/4 - 1/3) / 0.1443; the factors of [1.5, -.5, -.5, -.5] are [2, -2/3, -2/3, -2/3].
    assert plugin.size == approx(2.88675)
    assert learner.asked == [approx([2 * 2.88675, *[-2 / 3 * 2.88675] * 3]), "step"]


def test_a_step_that_hurt_is_not():
    plugin, learner = started(), Learner()
    for rewards in ([1.0, 0.0], [1.0, 1.0], [0.0, 0.0]):
        update(plugin, learner, rewards)
    assert learner.asked == []
    assert plugin.end_step() == {"repeated": 0.0}
    update(plugin, learner, [1.0, 1.0])
    assert plugin.size == 0.5
    assert plugin.history == [0.5, 1.0, 0.0, 1.0]


def test_the_start_of_the_step_is_measured_and_history_is_bounded():
    asked = []
    policy = SimpleNamespace(evaluate=asked.append)
    assert started().annotate("batch", policy) == {}
    assert started(most=0.0).annotate("batch", policy) == {}
    assert asked == ["batch"]
    plugin = started(window=2)
    for mean in (0.0, 1.0, 0.5):
        update(plugin, Learner(), [mean, mean])
    assert plugin.history == [1.0, 0.5]
