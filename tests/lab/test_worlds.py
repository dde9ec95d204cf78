"""Everything in a world is counted: probabilities, values and gradients are exact."""

from __future__ import annotations

import pytest
import torch

from harness.errors import UsageError
from harness.lab.draw import Setting, Simulation
from harness.lab.worlds import DIFFICULTIES, WORLDS, make_world

EACH = pytest.mark.parametrize("name", list(WORLDS))


@EACH
def test_probabilities_sum_to_one(name: str) -> None:
    world = make_world(name)
    total = world.probabilities(world.logits).sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("difficulty", list(DIFFICULTIES))
@EACH
def test_pass_rates_are_as_asked(name: str, difficulty: str) -> None:
    world = make_world(name, difficulty)
    rates = (world.probabilities(world.logits) * world.correct).sum(-1)
    wanted = torch.tensor(DIFFICULTIES[difficulty], dtype=rates.dtype)
    torch.testing.assert_close(rates, wanted, atol=0.02, rtol=0)


@EACH
def test_the_gradient_is_that_of_the_value(name: str) -> None:
    world = make_world(name)
    exact = world.gradient(world.logits)
    step = torch.zeros_like(world.logits)
    step[3, 0, 1] = 1e-5
    finite = (world.value(world.logits + step).mean() - world.value(world.logits - step).mean()) / 2e-5
    assert float(finite) == pytest.approx(float(exact[3, 0, 1]), rel=1e-6)


@EACH
def test_the_true_advantage_is_zero_on_average(name: str) -> None:
    world = make_world(name)
    mean = (world.advantage(world.logits) * world.probabilities(world.logits)).sum(-1)
    torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-12, rtol=0)


def test_draws_follow_the_policy_and_the_seed() -> None:
    world = make_world("language")
    simulation = Simulation(world, Setting(), 400)
    found = torch.nn.functional.one_hot(simulation.choice, len(world.tokens)).double().mean((0, 2))
    torch.testing.assert_close(found, world.probabilities(world.logits), atol=0.03, rtol=0)
    assert torch.equal(Simulation(world, Setting(), 400).choice, simulation.choice)


def test_noise_flips_verdicts_and_leaves_the_truth() -> None:
    world = make_world("bandit")
    simulation = Simulation(world, Setting(noise=0.2), 400)
    prompts = torch.arange(8)[None, :, None].expand_as(simulation.choice)
    flipped = simulation.correct ^ world.correct[prompts, simulation.choice]
    assert float(flipped.double().mean()) == pytest.approx(0.2, abs=0.01)


def test_a_stale_batch_has_ratios() -> None:
    simulation = Simulation(make_world("bandit"), Setting(stale=0.5), 2)
    batch = simulation.batch
    assert not torch.allclose(simulation.logp, batch.logp_old)
    fresh = Simulation(make_world("bandit"), Setting(), 2)
    torch.testing.assert_close(fresh.logp, fresh.batch.logp_old)


def test_unknown_names_are_said() -> None:
    with pytest.raises(UsageError, match="Did you mean 'bandit'"):
        make_world("bandid")
    with pytest.raises(UsageError, match="Did you mean 'easy'"):
        make_world("bandit", "esay")
