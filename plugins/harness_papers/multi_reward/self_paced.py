"""Self-Paced GRPO: from coarse rewards to fine ones as the policy masters the coarse."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from harness import hookimpl, method
from harness_papers.reward_columns import column_means, in_order, reweighted

if TYPE_CHECKING:
    from harness import Batch


@method(name="self-paced", paper="2511.19356", base="grpo(beta=0)", experimental=True)
class SelfPaced:
    """Weight moves from coarse rewards to fine ones as the running mean of the coarse passes a threshold.

    gate_1 = 1, gate_k = gate_{k-1} s(ema_{k-1});  n_k = gate_k (1 - s(ema_k)) + floor, s(x) = sigmoid(kappa (x - at));
    w_k = n_k / sum n;  R_i = sum_k w_k r_ik;  after the step ema_k <- (1 - eta) ema_k + eta mean_b(r_k), from 0.

    The paper's rewards are of videos; here they are the columns with a weight (its size takes no part), in the order
    of `order`, then as the tasks have them, each in [0, 1]. at: a third-party mixer's; the other numbers, and the
    form of the gates, are reconstructed.
    State: the running means.
    Edge cases: weights are the same for all rows, so that a group's reward is one fixed mix; with all mastered little
    but the floors is left, and weights are nearly equal.
    Source: arXiv 2511.19356, the abstract. Confidence: abstract (reconstructed).
    """

    order: tuple[str, ...] = ("format", "runs", "correct", "all_passed", "steps")
    at: float = 0.75
    kappa: float = 10.0
    eta: float = 0.05
    floor: float = 0.05

    @hookimpl
    def start(self) -> None:
        """Nothing is mastered."""
        self.ema: dict[str, float] = {}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The columns under this step's weights."""
        batch = yield
        return reweighted(batch, self.weights(in_order(batch, self.order)))

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """How well the step did on every column."""
        for name, mean in column_means(state.gathered).items():
            self.ema[name] = (1 - self.eta) * self.ema.get(name, 0.0) + self.eta * mean
        return {f"ema_{name}": mean for name, mean in self.ema.items()}

    def weights(self, names: list[str]) -> dict[str, float]:
        """By name, from coarse to fine; they add up to 1."""
        needs, gate = {}, 1.0
        for name in names:
            mastered = 1 / (1 + math.exp(-self.kappa * (self.ema.get(name, 0.0) - self.at)))
            needs[name] = gate * (1 - mastered) + self.floor
            gate *= mastered
        total = sum(needs.values())
        return {name: need / total for name, need in needs.items()} if total else dict.fromkeys(needs, 1 / len(needs))
