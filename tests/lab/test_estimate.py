"""The lab says of known estimators what is known of them."""

from __future__ import annotations

import pytest
import torch

from harness import hookimpl, method
from harness.host import build_stack, discover
from harness.lab import measures
from harness.lab.draw import Setting, Simulation
from harness.lab.estimate import NotInTheLab, estimate, sized
from harness.lab.worlds import make_world

CATALOGUE = discover()
WORLD = make_world("bandit")
EXACT = WORLD.gradient(WORLD.logits).flatten()


@method(scope="group")
class Plain:
    """Centre by the mean of the others."""

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward - batch.groups.leave_one_out_mean(batch.reward)

    @hookimpl
    def aggregate(self, batch):
        return batch.mask


def _ascent(stack: str, setting: Setting = Setting(), batches: int = 100) -> torch.Tensor:  # noqa: B008 - frozen
    return estimate(build_stack(stack, CATALOGUE), Simulation(WORLD, setting, batches)).ascent.flatten(1)


def test_groups_that_stand_alone_give_the_same_stacked_and_one_by_one() -> None:
    stack = build_stack("plain", CATALOGUE.with_class(Plain))
    simulation = Simulation(WORLD, Setting(), 20)
    together = estimate(stack, simulation, stacked=True)
    apart = estimate(stack, simulation, stacked=False)
    torch.testing.assert_close(together.ascent, apart.ascent, rtol=1e-9, atol=1e-12)


def test_leave_one_out_is_unbiased_and_dividing_by_the_std_is_not() -> None:
    world = make_world("language")
    exact, simulation = world.gradient(world.logits).flatten(), Simulation(world, Setting(), 300)
    found = {
        name: measures.bias(estimate(build_stack(name, CATALOGUE), simulation).ascent.flatten(1), exact)
        for name in ("rloo", "grpo(beta=0)")
    }
    assert found["rloo"] < 0.1
    assert found["grpo(beta=0)"] > 0.2


def test_larger_groups_are_worth_more_and_noise_costs() -> None:
    worth = [
        measures.cosine_of_batches(_ascent("dr-grpo", setting), EXACT)
        for setting in (Setting(group_size=2), Setting(group_size=16), Setting(group_size=16, noise=0.2))
    ]
    assert worth[0] < worth[2] < worth[1]


def test_groups_of_equals_push_nothing() -> None:
    simulation = Simulation(WORLD, Setting(), 50)
    found = estimate(build_stack("grpo(beta=0)", CATALOGUE), simulation)
    equal = (simulation.correct.all(-1) | ~simulation.correct.any(-1)).double().mean()
    assert measures.silent_groups(found.pull) == pytest.approx(float(equal))


def test_a_method_that_wants_more_completions_gets_them() -> None:
    assert sized(build_stack("mc-grpo", CATALOGUE), 4) == 5
    assert sized(build_stack("dapo", CATALOGUE), 4) == 4


def test_what_acts_elsewhere_is_left_out_with_a_reason() -> None:
    simulation = Simulation(WORLD, Setting(), 2)
    with pytest.raises(NotInTheLab, match=r"ppo: .*(hidden|module)"):
        estimate(build_stack("ppo", CATALOGUE), simulation)


def test_it_is_the_same_twice() -> None:
    assert torch.equal(_ascent("dapo", batches=5), _ascent("dapo", batches=5))
