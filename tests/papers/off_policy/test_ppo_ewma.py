import math

import pytest
import torch

from tests.papers.steps import before_update, begun, take
from tests.papers.worked import surrogate

LOGS = {"logp": [[-1.0]], "logp_old": [[-1.0]]}


def test_the_average_is_clipped_around_and_the_sampler_corrected_for():
    near = {"logp_near": [[-1.4]], "logp_sampler": [[-1.5]]}
    assert surrogate("ppo-ewma", 1, 1.0, **LOGS, **near) == pytest.approx((-1.2 * math.exp(0.1), 0))
    assert surrogate("ppo-ewma", 1, -1.0, **LOGS, **near) == pytest.approx((math.exp(0.5), math.exp(0.5)))
    assert surrogate("ppo-ewma(cap=2.0)", 1, -1.0, **LOGS, **near)[0] == pytest.approx(math.exp(0.5))
    assert surrogate("ppo-ewma(cap=1.5)", 1, -1.0, **LOGS, **near)[0] == pytest.approx(1.5)


def test_without_an_average_it_is_ppo():
    assert surrogate("ppo-ewma", 1, 1.0, logp=[[-0.5]], logp_old=[[-1.0]], logp_sampler=[[-1.0]])[0] == pytest.approx(
        -1.2
    )


@pytest.mark.parametrize("decay", [0.9, 0.0])
def test_the_average_follows_every_optimizer_step(decay):
    trial = begun(f"ppo-ewma(decay={decay})")
    state, policy = trial.context.state, trial.context.policy
    start = [p.detach().clone() for p in policy.model.parameters()]
    take(trial)  # two minibatches, two steps
    plugin = dict(trial.stack.plugins)["ppo-ewma"]
    assert plugin.weight == pytest.approx(1 + decay + decay**2)
    take(trial, first=1)
    assert plugin.weight == pytest.approx(1 + decay + decay**2 + decay**3 + decay**4)
    average = list(state.modules["ewma"].model.parameters())
    same = all(torch.equal(a, p) for a, p in zip(average, policy.model.parameters(), strict=True))
    assert same is (decay == 0)
    assert any(not torch.equal(a, p) for a, p in zip(average, start, strict=True))


def test_where_nothing_trains_the_average_stays():
    trial = begun("ppo-ewma")
    plugin, batch = dict(trial.stack.plugins)["ppo-ewma"], before_update(trial)
    trial.context.hooks.update(learner=trial.context.learner, batch=batch.replace(mask=torch.zeros_like(batch.mask)))
    assert plugin.weight == 1
