"""Reward columns of weight 0 that a stack trains on all the same are found by running it, not by asking it."""

import pytest
import torch

from harness import hookimpl, method
from harness.host import build_stack
from harness.host.unweighed import unweighed
from tests.host.plugins import stack

WEIGHTS = {"correct": 1.0, "format": 0.5, "steps": 0.0, "runs": 0.0}


def column(batch, name):
    return batch.rewards[:, batch.reward_names.index(name)]


@method
class Plain:
    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.center(batch.reward)


@method
class Steps:
    """Trains on the steps alone, whatever they weigh."""

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.center(column(batch, "steps"))


@method
class Shaped:
    """A price for programs that do not run: a threshold, in the shaped reward."""

    @hookimpl
    def shape_rewards(self, batch):
        return batch.add_reward("price", -(column(batch, "runs") >= 1).to(batch.rewards.dtype), weight=0.1)


@method
class InLoss:
    """A column that the loss alone looks at."""

    @hookimpl
    def policy_loss(self, batch, output):
        return -output.logp * column(batch, "runs")[:, None]


@method
class Drawing:
    """Builds its parts from the global generator."""

    @hookimpl
    def start(self):
        self.noise = torch.rand(3)

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.center(column(batch, "format"))


@method
class Attached:
    """Returns what still has a graph, which training refuses."""

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward * torch.ones((), requires_grad=True)


@method
class Leaving:
    @hookimpl
    def shape_rewards(self, batch):
        raise SystemExit(3)


@method
class Choosy:
    @hookimpl
    def estimate_advantages(self, batch):
        raise ValueError(f"no {batch}")


@pytest.mark.parametrize(
    ("plugin", "found"),
    [
        (Plain, []),
        (Steps, ["steps"]),
        (Shaped, ["runs"]),
        (InLoss, ["runs"]),
        (Drawing, []),
        (Attached, None),
        (Leaving, None),
        (Choosy, None),
    ],
)
def test_what_a_stack_trains_on_is_measured(plugin, found):
    before = torch.random.get_rng_state()
    assert unweighed(stack(plugin.info.slug, plugin), WEIGHTS) == found
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_column_with_a_weight_is_nobodys_secret():
    assert unweighed(stack("steps", Steps), {**WEIGHTS, "steps": 0.1}) == []
    assert unweighed(stack("choosy", Choosy), {"correct": 1.0}) == []


def test_first_party_methods_that_say_so():
    weights = {"correct": 1.0, "format": 0.5, "brevity": 0.5, "steps": 0.0}
    for name in ("awpo", "papo-process", "trust-grpo", "fapo-flawed", "grpo+awpo"):
        assert unweighed(build_stack(name), weights) == ["steps"], name
    for name in ("grpo", "gdpo", "heron", "dapo+f-grpo", "grpo+random-reward", "grpo+placebo"):
        assert unweighed(build_stack(name), weights) == [], name
