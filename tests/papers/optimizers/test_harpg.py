import pytest
import torch

from tests.papers.steps import before_update, begun, take


def gradient(trial, batch):
    trial.context.learner.backward(batch)
    return trial.context.learner.gradient()


def test_the_curvature_is_that_of_the_surrogate():
    """Along a short step the gradient at its end is that at its start plus the product, to first order."""
    trial = begun("harpg")
    learner, batch = trial.context.learner, before_update(trial)
    start = gradient(trial, batch)
    batch = learner.with_start(batch)
    step = -1e-3 * start / start.norm()
    plugin = dict(trial.stack.plugins)["harpg"]
    product = plugin.curvature(learner, batch, step, torch.Generator().manual_seed(0))
    learner.shift(step, -1.0)
    change = start - gradient(trial, batch)
    assert ((product - change).norm() / change.norm()) < 0.05


def test_momentum_is_carried_along():
    trial = begun("harpg(eta=0.25)")
    take(trial, 3)
    plugin = dict(trial.stack.plugins)["harpg"]
    assert plugin.taken == 3
    factor = trial.context.learner.lr / trial.context.learner.base_lr[0]
    assert float(plugin.past["step"].norm()) == pytest.approx(0.05 * factor)


def test_with_a_rate_of_one_it_is_normalised_descent():
    trial = begun("harpg(eta=1.0)")
    take(trial, 2)
    plugin = dict(trial.stack.plugins)["harpg"]
    assert torch.allclose(
        plugin.past["step"] / plugin.past["step"].norm(), -plugin.past["momentum"] / plugin.past["momentum"].norm()
    )
