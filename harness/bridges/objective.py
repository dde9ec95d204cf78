"""The loss of an optimizer minibatch that reaches the bridge in micro-batches: exact for any loss.

The cut is the learner's own: the minibatch's loss is differentiated with respect to what the policy returned
(log-probabilities, entropies), and every micro-batch back-propagates its share of those coefficients.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput
from harness.errors import HarnessError

__all__ = ["Slopes", "objective", "slopes"]


@dataclasses.dataclass(frozen=True)
class Slopes:
    """The loss of a minibatch and its gradient with respect to log-probabilities and entropies [N, T]."""

    loss: Tensor
    logp: Tensor
    entropy: Tensor | None

    def share(self, rows: Tensor, logp: Tensor, entropy: Tensor | None, parts: float) -> Tensor:
        """A scalar with the gradient of these rows' share of the loss, and 1/parts of its value."""
        total = (self.logp[rows] * logp).sum()
        if self.entropy is not None and entropy is not None:
            total = total + (self.entropy[rows] * entropy).sum()
        return total + (self.loss / parts - total).detach()


def objective(
    hooks: Any, batch: Batch, output: PolicyOutput, *, part: bool = False, factor: Tensor | None = None
) -> Tensor:
    """The stack's loss and regularizers; batch.weights are those of the whole minibatch.

    With `part` the rows are a part of it: then a scalar term cannot be shared out, and raises HarnessError. `factor`
    [N, T] multiplies the weights of the loss, not those of regularizers.
    """
    if batch.logp_old is None:  # the first update: the policy is still the one that sampled
        known = ~batch.logp_sampler.isnan()
        sampler = torch.where(known, batch.logp_sampler, output.logp_old)
        batch = batch.replace(logp_old=output.logp_old, logp_sampler=sampler)
    assert batch.weights is not None
    weighted = batch if factor is None else batch.replace(weights=batch.weights * factor)
    total: Tensor = hooks.loss(batch=weighted, output=output)
    for label, term in hooks.regularize(batch=batch, output=output):
        if term.dim() == 0 and part and (term.requires_grad or bool(term != 0)):
            raise HarnessError(
                f"regularize of {label!r} returns a scalar, which cannot be shared out over micro-batches; "
                "return [N, T] terms, or give every minibatch in one piece"
            )
        total = total + (term if term.dim() == 0 else (batch.weights * term).sum())
    return total


def slopes(hooks: Any, batch: Batch, logp: Tensor, entropy: Tensor | None) -> Slopes:
    """Differentiate the loss of a whole minibatch at detached log-probabilities and entropies [N, T]."""
    leaf = logp.detach().requires_grad_()
    bonus = None if entropy is None else entropy.detach().requires_grad_()
    old = leaf.detach() if batch.logp_old is None else batch.logp_old
    with torch.enable_grad():
        loss = objective(hooks, batch, PolicyOutput(logp=leaf, logp_old=old, mask=batch.mask, entropy=bonus))
    if loss.requires_grad:
        loss.backward()
    found = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    return Slopes(loss.detach(), found, None if bonus is None else bonus.grad)
