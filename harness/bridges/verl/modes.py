"""Which of verl's loss aggregations gives the weights of a stack's `aggregate`, found by comparing them.

verl hands the policy loss a micro-batch and the totals of its minibatch. A stack's weights can be computed from those
where they are one of verl's own modes; where they are not, only whole minibatches will do.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch
from harness.bridges.rows import make_batch

__all__ = ["Mode", "recognize", "sample", "verl_weights"]

CLOSE = 1e-7  # verl adds 1e-8 to lengths


@dataclasses.dataclass(frozen=True)
class Mode:
    """A `loss_agg_mode`, and the `loss_scale_factor` that goes with it."""

    name: str
    scale: int | None = None


def sample(max_tokens: int) -> Batch:
    """Six completions in two groups, lengths, rewards and advantages all different; float64."""
    lengths = torch.tensor([1, 2, 3, 5, 7, 4])
    width = 9
    mask = (torch.arange(width) < lengths[:, None]).double()
    rewards = torch.tensor([[0.1], [0.9], [0.35], [0.6], [0.2], [0.75]], dtype=torch.float64)
    batch = make_batch(
        mask=mask,
        prompt=torch.tensor([0, 0, 0, 1, 1, 1]),
        rewards=rewards,
        reward_names=("reward",),
        reward_weights=torch.ones(1, dtype=torch.float64),
        correct=rewards[:, 0] > 0.5,
        max_tokens=max(max_tokens, width),
    )
    return batch.replace(advantages=rewards - rewards.mean())


def recognize(weights: Tensor, mask: Tensor) -> Mode | None:
    """The mode whose weights on the sample these are; a constant times 1/rows is a `loss_scale_factor`."""
    rows, on = len(mask), mask > 0
    lengths = mask.sum(-1, keepdim=True)
    known = {
        "token-mean": mask / mask.sum(),
        "token-sum": mask,
        "seq-mean-token-mean": mask / lengths / rows,
        "seq-mean-token-sum": mask / rows,
    }
    for name, expected in known.items():
        if torch.allclose(weights, expected, rtol=0, atol=CLOSE):
            return Mode(name)
    constant = float(weights[on][0])
    if not constant > 0 or not torch.allclose(weights, mask * constant, rtol=0, atol=CLOSE):
        return None
    scale = 1 / (constant * rows)
    return Mode("seq-mean-token-sum-norm", round(scale)) if abs(scale - round(scale)) < 1e-6 * scale else None


def verl_weights(mask: Tensor, mode: str, info: dict[str, Any]) -> Tensor:
    """[N, T] the weight of every token loss in verl's own `agg_loss`, which is linear in them."""
    from verl.trainer.ppo.core_algos import agg_loss

    leaf = torch.zeros_like(mask, requires_grad=True)
    with torch.enable_grad():
        total = agg_loss(loss_mat=leaf, loss_mask=mask, loss_agg_mode=mode, **info)
    return torch.autograd.grad(total, leaf)[0]
