"""One hook of a stack on plain numbers: for tests, notebooks and reference vectors.

`method` is a stack ("dapo+f-grpo(gamma=2)"), the path of a file with one `@method` class, or such a class; `params` are
the fields of its plugin. Inputs are lists or arrays, named as the fields of `Batch` (`logp_old`, `logp_ref`, `entropy`,
`truncated`, `lengths`, `correct`, `reward_weights`, `greedy_reward`, ...); `token_rewards` [N, T] replaces the reward
columns, and any other name goes to `batch.extras`. Rows of a group need not be neighbours; a missing reward is None or
NaN. Everything is computed in float64, and results are numpy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput
from harness.host import HookCaller
from harness.probe_inputs import as_tensor
from harness.probe_stack import Method, begun, knowing

__all__ = [
    "advantages", "knowing", "loss", "objective", "regularizer", "rewards", "token_loss", "token_penalty",
    "total_reward", "train_on", "weights",
]  # fmt: skip

Array = np.ndarray[Any, np.dtype[np.float64]]


def advantages(
    method: Method, rewards: Any, group: Any, *, params: Mapping[str, Any] | None = None, shaped: bool = False,
    **batch_fields: Any,
) -> Array:  # fmt: skip
    """Advantages [N], or [N, T] where the method gives one to every token.

    `shape_rewards` is called before only if `shaped`.
    """
    hooks, batch = begun(method, params, rewards=rewards, group=group, **batch_fields)
    if shaped:
        batch = hooks.shape_rewards(batch=batch)
    found = hooks.estimate_advantages(batch=batch)
    return _array(_masked(found, batch) if hooks.per_token(found) else found[:, 0])


def rewards(
    method: Method, rewards: Any, group: Any, *, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> dict[str, Array]:
    """Reward columns after `shape_rewards`: [N], or [N, T] for a token column; those given are named 0, 1, ..."""
    hooks, batch = begun(method, params, rewards=rewards, group=group, **batch_fields)
    return _columns(hooks.shape_rewards(batch=batch))


def total_reward(
    method: Method, rewards: Any, group: Any, *, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> tuple[Array, Array]:
    """The weighted sum of the reward columns after `shape_rewards`: per completion [N], and per token [N, T]."""
    hooks, batch = begun(method, params, rewards=rewards, group=group, **batch_fields)
    shaped = hooks.shape_rewards(batch=batch)
    return _array(shaped.reward), _array(_masked(shaped.token_rewards, shaped))


def token_loss(
    method: Method, *, logp: Any, logp_old: Any, advantages: Any, mask: Any,
    params: Mapping[str, Any] | None = None, **batch_fields: Any,
) -> tuple[Array, Array]:  # fmt: skip
    """(`policy_loss` [N, T], gradient of its masked sum with respect to logp [N, T]); 0 where the mask is 0."""
    fields = {"logp_old": logp_old, "advantages": advantages, "mask": mask, **batch_fields}
    hooks, batch = begun(method, params, logp=logp, **fields)
    output, leaf = _output(batch, logp)
    losses = _masked(hooks.policy_loss(batch=_weighted(hooks, batch), output=output), batch)
    return _array(losses), _gradient((losses * batch.mask).sum(), leaf)


def weights(method: Method, mask: Any, *, params: Mapping[str, Any] | None = None, **batch_fields: Any) -> Array:
    """`aggregate`'s weights [N, T] of the token losses."""
    hooks, batch = begun(method, params, mask=mask, **batch_fields)
    return _array(hooks.aggregate(batch=batch))


def regularizer(
    method: Method, *, logp: Any, mask: Any, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> tuple[float, Array]:
    """(sum of all `regularize` terms, its gradient with respect to logp [N, T]); token terms get the loss's weights."""
    hooks, batch = begun(method, params, logp=logp, mask=mask, **batch_fields)
    output, leaf = _output(batch, logp)
    total = _penalty(hooks, _weighted(hooks, batch), output)
    return float(total.detach()), _gradient(total, leaf)


def token_penalty(
    method: Method, *, logp: Any, mask: Any, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> tuple[Array, Array]:
    """(sum of the [N, T] terms of `regularize`, gradient of its masked sum); scalar terms are left out."""
    hooks, batch = begun(method, params, logp=logp, mask=mask, **batch_fields)
    output, leaf = _output(batch, logp)
    found = hooks.regularize(batch=_weighted(hooks, batch), output=output)
    total = sum((term for _, term in found if term.dim() == 2), torch.zeros_like(leaf))
    total = _masked(total.expand_as(leaf), batch)
    return _array(total), _gradient((total * batch.mask).sum(), leaf)


def train_on(
    method: Method, *, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """[N, T] bool: the tokens that `train_on` leaves in the loss."""
    hooks, batch = begun(method, params, **batch_fields)
    chosen = hooks.train_on(batch=batch)
    kept = batch.mask > 0 if chosen is None else (batch.mask * chosen) > 0
    return kept.numpy()


def loss(
    method: Method, *, logp: Any, logp_old: Any, rewards: Any, group: Any, mask: Any,
    params: Mapping[str, Any] | None = None, **batch_fields: Any,
) -> tuple[float, Array]:  # fmt: skip
    """(the policy objective, its gradient with respect to logp [N, T]) with all rows as one minibatch.

    Runs shape_rewards, estimate_advantages, train_on, aggregate and loss; regularizers are not part of it.
    """
    fields = {"logp_old": logp_old, "rewards": rewards, "group": group, "mask": mask, **batch_fields}
    return _objective(method, params, logp, fields, penalties=False)


def objective(
    method: Method, *, logp: Any, mask: Any, params: Mapping[str, Any] | None = None, **batch_fields: Any
) -> tuple[float, Array]:
    """(the policy objective plus all regularizers, its gradient with respect to logp [N, T]): what a minibatch trains.

    Given `advantages` are taken as they are; else `rewards` and `group` go through shape_rewards and
    estimate_advantages. Then train_on, aggregate, loss and regularize.
    """
    return _objective(method, params, logp, {"mask": mask, **batch_fields}, penalties=True)


# -- numbers ---------------------------------------------------------------------------------------------------------


def _output(batch: Batch, logp: Any) -> tuple[PolicyOutput, Tensor]:
    """What the policy says, and the leaf that gradients are taken with respect to."""
    leaf = as_tensor(logp).requires_grad_()
    old = leaf.detach() if batch.logp_old is None else batch.logp_old
    return PolicyOutput(logp=leaf, logp_old=old, mask=batch.mask, entropy=batch.entropy), leaf


def _objective(
    method: Method, params: Mapping[str, Any] | None, logp: Any, fields: Mapping[str, Any], *, penalties: bool
) -> tuple[float, Array]:
    """The stages from shape_rewards on (or from train_on on, where advantages are given), and the gradient."""
    hooks, batch = begun(method, params, logp=logp, **fields)
    if batch.advantages is None:
        batch = hooks.shape_rewards(batch=batch)
        batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    chosen = hooks.train_on(batch=batch)
    batch = batch if chosen is None else batch.replace(mask=batch.mask * chosen)
    output, leaf = _output(batch, logp)
    batch = _weighted(hooks, batch)
    total = hooks.loss(batch=batch, output=output)
    if penalties:
        total = total + _penalty(hooks, batch, output)
    return float(total.detach()), _gradient(total, leaf)


def _penalty(hooks: HookCaller, batch: Batch, output: PolicyOutput) -> Tensor:
    """The sum of all regularizers, 0 without any."""
    found = hooks.penalty(batch=batch, output=output)
    return output.logp.new_zeros(()) if found is None else found


def _columns(batch: Batch) -> dict[str, Array]:
    return {
        name: _array(batch.token_columns.get(name, batch.rewards[:, column]))
        for column, name in enumerate(batch.reward_names)
    }


def _weighted(hooks: HookCaller, batch: Batch) -> Batch:
    return batch.replace(weights=hooks.aggregate(batch=batch))


def _masked(values: Tensor, batch: Batch) -> Tensor:
    return torch.where(batch.mask > 0, values, torch.zeros_like(values))


def _gradient(total: Tensor, leaf: Tensor) -> Array:
    if not total.requires_grad:
        return np.zeros(leaf.shape)
    (found,) = torch.autograd.grad(total, leaf, allow_unused=True)
    return np.zeros(leaf.shape) if found is None else _array(found)


def _array(values: Tensor) -> Array:
    return values.detach().to(torch.float64).numpy().copy()
