"""Claims of optimizer steps, on tables and noisy bowls that they can take steps in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from harness.claims import Evidence, claim
from harness.probe_inputs import plain_batch
from harness_papers.claims.table_policy import NoisyBowl, TableLearner, TablePolicy
from harness_papers.optimizers.harpg import HARPG
from harness_papers.optimizers.n_pg_igt import NPGIGT
from harness_papers.optimizers.polyak_step import PolyakStep
from harness_papers.optimizers.recursive_momentum import RecursiveMomentum
from harness_papers.optimizers.trpo import TRPO

__all__ = [
    "ahead_is_the_present", "batches_of_one_are_enough", "curvature_carries_momentum", "improvement_within_the_kl",
    "no_rate_to_tune",
]  # fmt: skip

STEPS, RATE, LENGTH = 120, 0.1, 0.02


def tracking(method: Any) -> dict[str, float]:
    """Mean distance of the momentum from the true gradient where it steps: a method's, plain momentum's, no momentum's.

    A bowl in 20 dimensions that is no quadratic, curvatures .5 to 2 at its bottom, noise 0.3;
    equal rate and step length, last 80 of 120 steps.
    """
    bowl = NoisyBowl(torch.linspace(0.5, 2, 20).double(), torch.ones(20).double(), 0.3)
    plain = NoisyBowl(bowl.curvature, bowl.weights, 0.3)
    batch, state = plain_batch({"rewards": [0.0]}), SimpleNamespace(generator=torch.Generator().manual_seed(1))
    method.start()
    momentum, found = plain.gradient(), {"ours": 0.0, "plain momentum": 0.0, "no momentum": 0.0}
    for step in range(STEPS):
        before, other = bowl.exact(), plain.exact()
        takes = (bowl, batch, state) if isinstance(method, HARPG) else (bowl, batch)
        method.update(*takes)
        momentum = torch.lerp(momentum, plain.gradient(), RATE)
        if step >= STEPS - 80:
            found["ours"] += float((method.past["momentum"] - before).norm()) / 80
            found["plain momentum"] += float((momentum - other).norm()) / 80
            found["no momentum"] += float((plain.gradient() - other).norm()) / 80
        plain.shift(momentum, -LENGTH / float(momentum.norm()))
        bowl.draw()
        plain.draw()
    return found


@claim(
    "n-pg-igt",
    "With the gradient taken at a point ahead, momentum is nearer to the present gradient than plain momentum.",
)
def ahead_is_the_present() -> Evidence:
    """A noisy bowl."""
    found = tracking(NPGIGT(length=LENGTH, eta=RATE))
    return Evidence(
        found["ours"] < min(found["plain momentum"], found["no momentum"]), found, "Distance from the true gradient."
    )


@claim("harpg", "Carried along by the curvature, momentum is nearer to the present gradient than plain momentum.")
def curvature_carries_momentum() -> Evidence:
    """A noisy bowl."""
    found = tracking(HARPG(length=LENGTH, eta=RATE))
    return Evidence(
        found["ours"] < min(found["plain momentum"], found["no momentum"]), found, "Distance from the true gradient."
    )


@claim("recursive-momentum", "The correction reduces the variance with batches of one, where plain momentum lags.")
def batches_of_one_are_enough() -> Evidence:
    """A noisy bowl, whose noise in a batch is the same at both weights; importance weights play no part."""
    found = tracking(RecursiveMomentum(length=LENGTH, eta=RATE))
    return Evidence(
        found["ours"] < min(found["plain momentum"], found["no momentum"]), found, "Distance from the true gradient."
    )


@claim("trpo", "Every step raises the surrogate and keeps the KL within its limit.")
def improvement_within_the_kl() -> Evidence:
    """Six batches of 32 completions of three tokens out of five, from one policy; beside a plain step of rate 1."""
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 5, dtype=torch.float64, generator=generator)
    worth = torch.randn(3, 5, dtype=torch.float64, generator=generator)
    gains, divergences, plain = [], [], []
    for _ in range(6):
        learner = TableLearner("trpo", TablePolicy(start))
        ids = learner.policy.sample(32, generator)
        batch = learner.batch(ids, worth[torch.arange(3), ids].sum(1))
        given = learner.with_start(batch)
        assert given.logp_old is not None
        assert given.advantages is not None
        metrics = TRPO().update(learner, batch, learner.state)
        ratio = (learner.policy.evaluate(given).logp - given.logp_old).exp()
        gains.append(float(((ratio - 1) * given.advantages).mean().detach()))
        divergences.append(float(metrics["trpo_kl"]))
        learner.restore(start)
        learner.backward(given)
        learner.shift(learner.gradient(), -1.0)
        plain.append(float(TablePolicy(start).kl(given, learner.policy).mean()))
    numbers = {"least gain of the surrogate": min(gains), "least KL": min(divergences), "largest KL": max(divergences)}
    numbers |= {"least KL of a plain step": min(plain), "largest": max(plain)}
    return Evidence(min(gains) > 0 and max(divergences) <= 0.01, numbers, "The limit is 0.01.")


@claim("polyak-step", "Progress does not depend on a rate, where that of plain steps does.")
def no_rate_to_tune() -> Evidence:
    """A bandit of three with its exact gradient, 60 steps: expected reward at the end, by the rate of plain steps.

    The suite's rate only sets the schedule; what takes its place in the method is the largest step, 0.1 by default.
    """
    worth = torch.tensor([1.0, 0.5, 0.0]).double()
    numbers: dict[str, float] = {}
    for rate in (0.1, 1.0, 10.0):
        learner = _Bandit(worth)
        for _ in range(60):
            PolyakStep(most=rate).update(learner, plain_batch({"rewards": [learner.value()]}))
        numbers[f"polyak, most {rate}"] = learner.value()
        learner = _Bandit(worth)
        for _ in range(60):
            learner.shift(learner.gradient(), -rate)
        numbers[f"plain, rate {rate}"] = learner.value()
    ends = [numbers[f"polyak, most {rate}"] for rate in (0.1, 1.0, 10.0)]
    note = "While the step that the rule asks for is larger than the largest allowed, the latter is a rate."
    return Evidence(max(ends) - min(ends) < 0.01, numbers, note)


class _Bandit(NoisyBowl):
    """The exact gradient of minus the expected reward of a softmax."""

    def __init__(self, worth: torch.Tensor) -> None:
        super().__init__(worth, torch.zeros(3).double(), 0.0)

    def value(self) -> float:
        """The expected reward."""
        return float(self.weights.softmax(0) @ self.curvature)

    def exact(self) -> torch.Tensor:
        """[3]."""
        chances = self.weights.softmax(0)
        return -chances * (self.curvature - chances @ self.curvature)
