import pytest
import torch
from harness_papers.optimizers.directions import moved_policy

from tests.papers.steps import begun, take


def weights(trial):
    return torch.cat([p.detach().reshape(-1) for p in trial.context.learner.parameters])


def plugin_of(trial, slug):
    return dict(trial.stack.plugins)[slug]


def test_every_step_has_the_length():
    trial = begun("n-pg-igt(length=0.03)")
    factor = trial.context.learner.lr / trial.context.learner.base_lr[0]
    for number in range(3):
        before = weights(trial)
        metrics = take(trial, 1, number)[0]
        assert metrics["updates"] == 1
        moved = (weights(trial) - before).norm()
        factor = trial.context.learner.lr / trial.context.learner.base_lr[0]
        assert float(moved) == pytest.approx(0.03 * factor, rel=1e-6)


def test_the_paper_s_rate():
    plugin = plugin_of(begun("n-pg-igt"), "n-pg-igt")
    rates = []
    for plugin.taken in (0, 2, 6):
        rates.append(plugin.rate())
    assert rates == pytest.approx([1, 0.5**0.8, 0.25**0.8])


def test_completions_come_from_the_point_ahead():
    trial = begun("n-pg-igt(eta=0.5, length=0.5)")
    take(trial)
    plugin, policy, here = plugin_of(trial, "n-pg-igt"), trial.context.state.policy, weights(trial)
    with moved_policy(policy, plugin.past["step"], 1.0):
        assert torch.allclose(weights(trial), here + plugin.past["step"])
    assert torch.equal(weights(trial), here)
    take(trial, 1, 1)
    assert plugin.taken == 2


def test_nothing_to_gain_leaves_the_weights():
    trial = begun("n-pg-igt", hopeless=True)
    before = weights(trial)
    assert take(trial)[0]["updates"] == 0
    assert torch.equal(weights(trial), before)


def test_weights_come_back_after_a_fault():
    trial = begun("n-pg-igt")
    here, ones = weights(trial), torch.ones_like(weights(trial))
    with pytest.raises(RuntimeError, match="no"), moved_policy(trial.context.state.policy, ones, 1.0):
        raise RuntimeError("no")
    assert torch.equal(weights(trial), here)
