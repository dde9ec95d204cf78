import math

import pytest
import torch

from harness import probe
from tests.papers.steps import before_update, begun, take


def plugin_of(trial):
    return dict(trial.stack.plugins)["recursive-momentum"]


def test_weights_of_whole_completions_are_capped():
    fields = {"logp": [[0.3, 0.4], [2.0, 2.0]], "logp_old": [[0.0, 0.0]] * 2, "mask": [[1, 1]] * 2}
    _, slope = probe.token_loss("recursive-momentum", advantages=[1.0, -1.0], **fields)
    assert slope[0] == pytest.approx([-math.exp(0.7)] * 2)
    assert slope[1] == pytest.approx([10, 10])


def test_where_nothing_moved_the_momentum_becomes_the_gradient():
    """m = g + (1 - eta) (m - g): the share eta of what is missing."""
    trial = begun("recursive-momentum(eta=0.5)")
    batch, learner, plugin = before_update(trial), trial.context.learner, plugin_of(trial)
    learner.backward(batch)
    gradient = learner.gradient()
    plugin.past.update(momentum=torch.zeros_like(gradient), step=torch.zeros_like(gradient))
    plugin.update(learner, learner.with_start(batch))
    assert torch.allclose(plugin.past["momentum"], 0.5 * gradient)


def test_the_first_step_is_normalised_descent():
    trial = begun("recursive-momentum(length=0.02)")
    metrics = take(trial)[0]
    plugin = plugin_of(trial)
    assert float(plugin.past["momentum"].norm()) == pytest.approx(metrics["grad_norm"])
    factor = trial.context.learner.lr / trial.context.learner.base_lr[0]
    assert float(plugin.past["step"].norm()) == pytest.approx(0.02 * factor)
    assert plugin.rate() == pytest.approx(2 ** (-2 / 3))
    assert take(trial, 1, 1)[0]["updates"] == 1
