from types import SimpleNamespace

import pytest
import torch
from harness_papers.multi_reward.drw_gradient import DRWGradient

from tests.batches import make_batch

approx = pytest.approx


class Learner:
    """Gives the gradients in turn, and notes the weights that the step is made with."""

    def __init__(self, *gradients):
        self.gradients, self.made = list(gradients), []

    def minibatches(self, batch):
        return [batch]

    def backward(self, batch):
        self.made.append(batch.reward_weights.tolist())

    def gradient(self):
        return torch.tensor(self.gradients.pop(0), dtype=torch.float64)

    def epoch(self, batch):
        self.made.append(batch.reward_weights.tolist())
        return {"loss": 0.0}


def stepped(plugin, rewards, *gradients):
    hooks = SimpleNamespace(estimate_advantages=lambda batch: batch.reward[:, None])
    learner = Learner(*gradients)
    state = SimpleNamespace(hooks=hooks, updates_per_batch=1)
    return learner, plugin.update(learner, plugin._weighted(make_batch(rewards)), state)


def started(**params):
    plugin = DRWGradient(**params)
    plugin.start()
    return plugin


def test_orthogonal_gradients_worked_by_hand():
    learner, metrics = stepped(started(max_norm=9.0), [[1, 0], [0, 1]], [1, 0], [0, 2])
    assert learner.made == [[1, 0], [0, 1], approx([0.4256, 0.5744], abs=1e-4)]
    assert metrics == {"loss": 0, "weight_r0": approx(0.4256, abs=1e-4), "weight_r1": approx(0.5744, abs=1e-4)}


def test_gradients_are_clipped_and_weights_wait_for_their_turn():
    plugin = started(every=2)
    learner, _ = stepped(plugin, [[1, 0], [0, 1]], [3, 0], [0, 4])
    assert learner.made[-1] == [0.5, 0.5]
    stepped(plugin, [[1, 0], [0, 1]], [1, 0], [0, 0])
    assert plugin.weights.tolist() == approx(torch.tensor([0.1, 0.05]).softmax(0).tolist())


def test_one_reward_needs_no_gradient_of_its_own():
    learner, _ = stepped(started(), [[1], [0]])
    assert learner.made == [[1]]
