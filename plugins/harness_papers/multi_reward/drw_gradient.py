"""Dynamic reward weighting by gradients: rewards whose gradient agrees with the others gain weight."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import active

if TYPE_CHECKING:
    from harness import Batch


@method(name="drw-gradient", paper="2509.11452", base="grpo(beta=0)")
class DRWGradient:
    """Multiplicative weights on the rewards: each grows with the agreement of its gradient with all of them.

    g_k: gradient of the loss with reward k alone, its norm clipped to max_norm;  I_k = sum_j <g_k, g_j>;
    w <- softmax(log w + rate I), from uniform;  R_i = sum_k w_k r_ik, and then the step.

    rate: the authors' lr / mu = 1e-6 / 1e-5. every: steps between updates of w, over which I is averaged. The K
    gradients are K more training passes over the batch, and are charged. The rewards are the columns with a weight,
    whose size takes no part; gradients are of all parameters (the authors' of layers 10 to 25). Their runs switch the
    clip off, by a range of 100: `grpo(beta=0, clip=100)+drw-gradient`.
    State: the weights.
    Edge cases: a reward without gradient has I = 0, and loses weight to the others; one reward keeps weight 1.
    Source: arXiv 2509.11452, the authors' code. Confidence: code.
    """

    rate: float = 0.1
    every: int = 1
    max_norm: float = 1.0

    @hookimpl
    def start(self) -> None:
        """Uniform weights, nothing measured."""
        self.weights: Tensor | None = None  # [K] of the columns that count
        self.agreement: Tensor | None = None
        self.measured = 0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rewards under the weights so far."""
        batch = yield
        return self._weighted(batch)

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """A gradient a reward, new weights, advantages under them, then the ordinary epochs."""
        columns = active(batch).nonzero()[:, 0].tolist()
        if len(columns) > 1:
            gradients = torch.stack([self._gradient(learner, batch, column, state) for column in columns])
            self._reweigh((gradients @ gradients.T).sum(1))
            batch = self._weighted(batch)
            batch = batch.replace(advantages=state.hooks.estimate_advantages(batch=batch))
        for _ in range(state.updates_per_batch):
            metrics = learner.epoch(batch)
        return {**metrics, **self._logged(batch, columns)}

    def _gradient(self, learner: Any, batch: Batch, column: int, state: Any) -> Tensor:
        """[P] the clipped gradient of the batch's loss where only one column counts."""
        alone = torch.zeros_like(batch.reward_weights)
        alone[column] = 1
        single = batch.replace(reward_weights=alone)
        single = single.replace(advantages=state.hooks.estimate_advantages(batch=single))
        for part in learner.minibatches(single):
            learner.backward(part)
        gradient: Tensor = learner.gradient().to(torch.float64)
        return gradient * (self.max_norm / gradient.norm().clamp_min(1e-12)).clamp_max(1)

    def _reweigh(self, agreement: Tensor) -> None:
        """One mirror-descent step on the weights when enough steps are averaged."""
        agreement = agreement.cpu()
        self.agreement = agreement if self.agreement is None else self.agreement + agreement
        self.measured += 1
        if self.measured == self.every:
            assert self.weights is not None
            self.weights = (self.weights.log() + self.rate * self.agreement / self.measured).softmax(0)
            self.agreement, self.measured = None, 0

    def _weighted(self, batch: Batch) -> Batch:
        counted = active(batch)
        number = int(counted.sum())
        if self.weights is None:
            self.weights = torch.full((number,), 1 / max(number, 1), dtype=torch.float64)
        weights = torch.zeros_like(batch.reward_weights)
        weights[counted] = self.weights.to(weights)
        return batch.replace(reward_weights=weights)

    @staticmethod
    def _logged(batch: Batch, columns: list[int]) -> dict[str, float]:
        return {f"weight_{batch.reward_names[column]}": float(batch.reward_weights[column]) for column in columns}
