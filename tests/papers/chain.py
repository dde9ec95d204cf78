"""What a stack makes of a batch, from shaped rewards to the gradient of its loss, without a policy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor

from harness import Batch, PolicyOutput
from harness.host import build_stack, discover
from tests.batches import make_batch

CATALOGUE = discover()

METHODS = (
    "ar3po", "cispo", "dapo", "delta-l", "dr-grpo", "f-grpo", "gdpo", "gdpo(tokens=True)", "grpo",
    "grpo(scale='batch')", "grpo(scale='others')", "gspo", "igrpo", "mc-grpo", "placebo", "ppo", "raft", "reinforce",
    "reinforce-pp", "remax", "rloo", "rloo(clip=0.2)", "sfpo", "tree-grpo", "vade",
)  # fmt: skip
GROUP_RELATIVE = (
    "ar3po", "cispo", "dapo", "delta-l", "dr-grpo", "f-grpo", "gdpo", "grpo", "gspo", "igrpo", "mc-grpo", "placebo",
    "rloo", "sfpo", "tree-grpo", "vade",
)  # fmt: skip


class Outcome(NamedTuple):
    """Advantages [N, T], 0 where masked; the loss; its gradient with respect to logp [N, T]."""

    advantages: Tensor
    loss: float
    gradient: Tensor


def sample(rewards=(1.0, 0.2, 0.0, 0.9, 0.4, 0.1), group=(0, 0, 0, 1, 1, 1), lengths=(3, 1, 2, 4, 2, 0), **fields):
    """A batch that any method can take, two columns, unequal lengths and one empty completion."""
    columns = torch.as_tensor(rewards, dtype=torch.float64)
    columns = torch.stack([columns, 0.3 * columns.flip(0)], 1) if columns.dim() == 1 else columns
    batch = make_batch(columns, group, lengths, **fields)
    noise = torch.Generator().manual_seed(5)
    extras = {"values": torch.rand(batch.mask.shape, dtype=torch.float64, generator=noise) * batch.mask}
    extras["tree"] = torch.arange(len(batch)) % 2
    # igrpo trains on refinements, which are those of a second round.
    return batch.replace(
        greedy_reward=batch.groups.mean(columns[:, 0]), round=torch.ones_like(batch.prompt)
    ).with_extras(**extras)


def run(stack: str, batch: Batch) -> Outcome:
    """Shape, estimate, choose, weigh, lose."""
    state = SimpleNamespace(hook="start", step=0, generator=torch.Generator().manual_seed(0), group_size=3)
    hooks = build_stack(stack, CATALOGUE).caller(state)
    hooks.start(run=None)
    batch = batch.replace(group_keys=hooks.group_by(batch=batch))
    batch = hooks.shape_rewards(batch=batch)
    batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    shown = torch.where(batch.mask > 0, batch.advantages.expand(batch.mask.shape), 0.0)
    chosen = hooks.train_on(batch=batch)
    batch = batch if chosen is None else batch.replace(mask=batch.mask * chosen)
    logp = (1.1 * batch.logp_old).requires_grad_()
    values = 1.2 * batch.extras["values"]
    output = PolicyOutput(logp=logp, logp_old=batch.logp_old, mask=batch.mask, modules={"critic": values})
    batch = batch.replace(weights=hooks.aggregate(batch=batch))
    loss = hooks.loss(batch=batch, output=output)
    for _, term in hooks.regularize(batch=batch, output=output):
        loss = loss + (term if term.dim() == 0 else (batch.weights * term).sum())
    (gradient,) = torch.autograd.grad(loss, logp, allow_unused=True) if loss.requires_grad else (None,)
    return Outcome(shown, float(loss.detach()), torch.zeros_like(logp) if gradient is None else gradient)
