"""From a minibatch's loss to gradients: exact under any micro-batching, for any loss.

The loss never sees a micro-batch. The graph is cut at `PolicyOutput`: its differentiable tensors (log-probabilities,
entropies, hidden states, top logits, outputs of built modules) are leaves, the loss of the whole minibatch is
differentiated with respect to them, and those coefficients are then sent back through the policy, chunk by chunk.
Where the minibatch fits into one micro-batch the chunks' graphs are kept from the first forward (the direct path);
elsewhere the first forward keeps no graph and every chunk runs again. Both give the same gradient.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.training.measures import finite

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.training.passes import Pass

__all__ = ["Found", "Objective", "through_cut", "through_whole"]

# The policy objective, the sum of the regularizers (None without any), and the batch with its weights.
Objective = Callable[["Pass", Mapping[str, Tensor]], "tuple[Tensor, Tensor | None, Batch]"]


@dataclasses.dataclass(frozen=True)
class Found:
    """What a backward pass saw: the batch with weights, log-probabilities, the loss, and how many rows ran again.

    `slope` [N, T] is the gradient of the policy objective with respect to the log-probabilities, where it is known.
    """

    batch: Batch
    logp: Tensor
    loss: Tensor
    slope: Tensor | None
    replayed: int = 0


def through_whole(work: Pass, objective: Objective) -> Found:
    """One graph from the weights to the loss, for a loss that must have it."""
    tensors = work.gather([work.chunk(chunk) for chunk in work.plan])
    finite(tensors["logp"])
    loss, extra, batch = objective(work, tensors)
    total = loss if extra is None else loss + extra
    if total.requires_grad:
        total.backward()
    return Found(batch, tensors["logp"].detach(), total.detach(), None)


def through_cut(work: Pass, objective: Objective, *, keep: bool) -> Found:
    """The graph cut at the policy's output; `keep` the graphs of the chunks, or run every chunk again."""
    with torch.set_grad_enabled(keep):
        parts = [work.chunk(chunk) for chunk in work.plan]
    whole = work.gather([{name: x.detach() for name, x in part.items()} for part in parts])
    leaves = {name: x.requires_grad_() if x.is_floating_point() else x for name, x in whole.items()}
    finite(leaves["logp"])
    with torch.enable_grad():
        loss, extra, batch = objective(work, leaves)
        slope = None
        if loss.requires_grad:
            loss.backward(retain_graph=extra is not None)
            slope = leaves["logp"].grad
            slope = slope.clone() if slope is not None and extra is not None else slope
        if extra is not None and extra.requires_grad:
            extra.backward()
    coefficients = {name: x.grad for name, x in leaves.items() if x.grad is not None}
    replayed = _send_back(work, parts if keep else None, coefficients) if coefficients else 0
    total = loss.detach() if extra is None else loss.detach() + extra.detach()
    return Found(batch, leaves["logp"].detach(), total, slope, replayed)


def _send_back(work: Pass, parts: Sequence[Mapping[str, Tensor]] | None, coefficients: Mapping[str, Tensor]) -> int:
    """Backpropagate the coefficients of every chunk, through the graph kept or a new one. Returns rows run again."""
    replayed = 0
    for number, chunk in enumerate(work.plan):
        shares = {name: c[chunk.rows] for name, c in coefficients.items()}
        if parts is None:
            if not work.even and not any(bool(share.any()) for share in shares.values()):
                continue
            with torch.enable_grad():
                part: Mapping[str, Tensor] = work.chunk(chunk)
            replayed += len(chunk.rows)
        else:
            part = parts[number]
        ends = [(part[name], share) for name, share in shares.items() if part[name].requires_grad]
        if ends:
            torch.autograd.backward(
                [end for end, _ in ends],
                [share[:, : end.shape[1]] if share.shape != end.shape else share for end, share in ends],
            )
    return replayed
