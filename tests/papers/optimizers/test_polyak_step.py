import pytest
import torch

from tests.papers.steps import before_update, begun, take


def weights(trial):
    return torch.cat([p.detach().reshape(-1) for p in trial.context.learner.parameters])


def test_the_step_is_the_gap_over_the_squared_gradient():
    trial = begun("polyak-step(most=1e9, c=100.0)")
    batch, before = before_update(trial), weights(trial)
    learner = trial.context.learner
    learner.backward(batch)
    gradient = learner.gradient()
    found = trial.context.hooks.update(learner=learner, batch=learner.with_start(batch))
    size = (1 - batch.reward.mean()) / (100 * gradient.square().sum()) * learner.lr / learner.base_lr[0]
    assert found["polyak_step"] == pytest.approx(float(size), rel=1e-4)
    assert torch.allclose(weights(trial), before - size * gradient)


def test_at_most_so_far():
    assert take(begun("polyak-step(most=1e-6)"))[0]["method/polyak_step"] <= 1e-6


@pytest.mark.parametrize(("stack", "options"), [("polyak-step(best=-9.0)", {}), ("polyak-step", {"hopeless": True})])
def test_without_a_gap_or_a_gradient_the_weights_stay(stack, options):
    trial = begun(stack, **options)
    before = weights(trial)
    assert take(trial)[0]["updates"] == 0
    assert torch.equal(weights(trial), before)
