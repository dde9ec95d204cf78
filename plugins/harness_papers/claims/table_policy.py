"""A policy that is a table of logits, and a learner for it: what optimizer-step methods need to take a step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput
from harness.host import build_stack, discover
from harness.probe_inputs import plain_batch

__all__ = ["NoisyBowl", "TableLearner", "TablePolicy"]


class TablePolicy:
    """Logits [S, V]; the context of a token is its place in the completion."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits.clone().requires_grad_()

    def table(self) -> Tensor:
        """[S, V] log-probabilities."""
        return torch.log_softmax(self.logits, -1)

    def evaluate(self, batch: Batch) -> PolicyOutput:
        """Log-probabilities of the completions' tokens."""
        rows = torch.arange(batch.completion_ids.shape[1])
        logp = self.table()[rows, batch.completion_ids]
        return PolicyOutput(logp, logp.detach() if batch.logp_old is None else batch.logp_old, batch.mask)

    def follow(self, other: TablePolicy) -> None:
        """Take over the other's weights."""
        with torch.no_grad():
            self.logits.copy_(other.logits)

    def kl(self, batch: Batch, other: TablePolicy) -> Tensor:
        """[N, T] KL(self || other) in the context of every token."""
        ours = self.table()
        divergence = (ours.exp() * (ours - other.table())).sum(-1).detach()
        return divergence.expand_as(batch.mask)

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """[number, S] tokens."""
        return torch.multinomial(
            self.table().detach().exp(), number, replacement=True, generator=generator
        ).T.contiguous()


class TableLearner:
    """The learner's calls that `update` hooks make, on a table: gradients through a stack's own loss."""

    def __init__(self, text: str, policy: TablePolicy) -> None:
        self.policy, self.lr, self.base_lr = policy, 1.0, [1.0]
        self.state: Any = SimpleNamespace(
            step=0, progress=0.0, round=0, seed=0, hook="start", policy=policy, updates_per_batch=1,
            generator=torch.Generator().manual_seed(0), modules={"trpo_old": TablePolicy(policy.logits.detach())},
        )  # fmt: skip
        self.hooks = build_stack(text, discover()).caller(self.state)

    def batch(self, ids: Tensor, rewards: Tensor) -> Batch:
        """One group of completions [N, T] with advantages by the stack."""
        made = plain_batch({"rewards": rewards.numpy(), "mask": torch.ones(ids.shape).numpy()}).replace(
            completion_ids=ids
        )
        return made.replace(advantages=self.hooks.estimate_advantages(batch=made))

    def backward(self, batch: Batch) -> Mapping[str, float]:
        """Note the gradient of the loss and its penalties."""
        output = self.policy.evaluate(batch)
        batch = batch.replace(weights=self.hooks.aggregate(batch=batch))
        total = self.hooks.loss(batch=batch, output=output)
        for _, term in self.hooks.regularize(batch=batch, output=output):
            total = total + term.sum()
        (self._gradient,) = torch.autograd.grad(total, self.policy.logits)
        return {}

    def gradient(self) -> Tensor:
        """[P] the noted gradient."""
        return self._gradient.flatten()

    def with_start(self, batch: Batch) -> Batch:
        """The batch with the present log-probabilities as the old ones."""
        return batch.replace(logp_old=self.policy.evaluate(batch).logp.detach())

    def snapshot(self) -> Tensor:
        """The weights."""
        return self.policy.logits.detach().clone()

    def restore(self, origin: Tensor) -> None:
        """Put weights back."""
        with torch.no_grad():
            self.policy.logits.copy_(origin)

    @contextlib.contextmanager
    def tentative(self) -> Iterator[Tensor]:
        """The weights at the start of the block."""
        yield self.snapshot()

    def shift(self, step: Tensor, scale: float = 1.0) -> None:
        """Move the weights."""
        with torch.no_grad():
            self.policy.logits += scale * step.view_as(self.policy.logits)

    def stepped(self) -> None:
        """Nothing is counted here."""


class NoisyBowl:
    """A learner whose gradient is c (theta + theta^3), and of a batch has noise of its own."""

    def __init__(self, curvature: Tensor, start: Tensor, noise: float, seed: int = 0) -> None:
        self.curvature, self.weights, self.noise = curvature, start.clone(), noise
        self.lr, self.base_lr = 1.0, [1.0]
        self.generator = torch.Generator().manual_seed(seed)
        self.draw()

    def draw(self) -> None:
        """Another batch, another noise."""
        fresh = torch.randn(self.weights.shape, generator=self.generator, dtype=self.weights.dtype)
        self.disturbance = self.noise * fresh

    def exact(self) -> Tensor:
        """[P] the true gradient."""
        return self.curvature * (self.weights + self.weights**3)

    def backward(self, _batch: Batch) -> Mapping[str, float]:
        """Nothing to note."""
        return {}

    def gradient(self) -> Tensor:
        """[P] of the present batch."""
        return self.exact() + self.disturbance

    def with_start(self, batch: Batch) -> Batch:
        """The batch."""
        return batch

    def snapshot(self) -> Tensor:
        """The weights."""
        return self.weights.clone()

    def restore(self, origin: Tensor) -> None:
        """Put weights back."""
        self.weights = origin.clone()

    def shift(self, step: Tensor, scale: float = 1.0) -> None:
        """Move the weights."""
        self.weights = self.weights + scale * step

    def stepped(self) -> None:
        """Nothing is counted here."""
