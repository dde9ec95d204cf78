"""A stack as verl's policy loss, which the workers call on every micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput
from harness.bridges.objective import objective
from harness.bridges.rows import make_batch
from harness.bridges.verl.modes import Mode, verl_weights
from harness.errors import HarnessError, UsageError
from harness.host import Stack

__all__ = ["PolicyLoss"]


class PolicyLoss:
    """What verl calls. Rewards and groups are not known here: reward columns are NaN, every row is its own group."""

    def __init__(self, hooks: Any, stack: Stack, mode: Mode | None, max_tokens: int, settings: Sequence[str]) -> None:
        self.hooks = hooks
        self.stack = stack
        self.mode = mode
        self.max_tokens = max_tokens
        self.settings = settings
        self.__name__ = "stack_policy_loss"

    def __call__(  # noqa: PLR0917 - verl's own signature
        self,
        old_log_prob: Tensor,
        log_prob: Tensor,
        advantages: Tensor,
        response_mask: Tensor,
        loss_agg_mode: str = "token-mean",
        config: Any = None,
        rollout_is_weights: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        """(the micro-batch's share of the minibatch's loss, metrics). All tensors [n, T].

        `rollout_is_weights` multiplies the token losses, as in verl's own. Raises UsageError for a config that weighs
        tokens otherwise than the stack, HarnessError for a part of a minibatch where the stack needs the whole.
        """
        info = dict(config.global_batch_info) if config is not None else {}
        mask = response_mask.to(log_prob.dtype)
        batch = self._batch(mask, advantages.detach().to(log_prob.dtype))
        whole = _whole(mask, info)
        weights = self._weights(batch, loss_agg_mode, info, whole=whole)
        output = PolicyOutput(logp=log_prob, logp_old=old_log_prob.detach(), mask=mask)
        batch = batch.replace(weights=weights, logp_old=output.logp_old)
        if rollout_is_weights is not None and self.hooks.implemented("loss"):
            raise UsageError(
                f"{self.stack.canonical} has a loss of its own, which verl's rollout correction cannot weigh"
            )
        loss = objective(self.hooks, batch, output, part=not whole, factor=rollout_is_weights)
        self.hooks.check_hidden(0)
        gap = -(output.log_ratio.detach() * mask).sum() / mask.sum().clamp_min(1)
        return loss, {"actor/ppo_kl": gap.item()}

    def _batch(self, mask: Tensor, advantages: Tensor) -> Batch:
        rows = torch.arange(len(mask), device=mask.device)
        unknown = torch.full_like(mask[:, :1], torch.nan)
        batch = make_batch(
            mask=mask,
            prompt=rows,
            rewards=unknown,
            reward_names=("reward",),
            reward_weights=torch.ones_like(unknown[:1, 0]),
            correct=torch.zeros_like(rows, dtype=torch.bool),
            max_tokens=self.max_tokens,
        )
        return batch.replace(advantages=advantages)

    def _weights(self, batch: Batch, mode: str, info: dict[str, Any], *, whole: bool) -> Tensor:
        """The stack's weights: by verl's totals where verl knows them, else by `aggregate` on a whole minibatch."""
        if not whole and self.mode is None:
            raise HarnessError(
                f"{self.stack.canonical} needs whole minibatches in verl: one data-parallel worker, and "
                "ppo_micro_batch_size_per_gpu as large as ppo_mini_batch_size times rollout.n"
            )
        if self.mode is None:
            return self.hooks.aggregate(batch=batch)
        if mode != self.mode.name or (self.mode.scale is not None and info.get("loss_scale_factor") != self.mode.scale):
            raise UsageError(
                f"{self.stack.canonical} weighs tokens otherwise than the config's loss_agg_mode={mode!r}, "
                f"loss_scale_factor={info.get('loss_scale_factor')}; set {' '.join(self.settings[2:])}"
            )
        return verl_weights(batch.mask, mode, info)


def _whole(mask: Tensor, info: dict[str, Any]) -> bool:
    """Whether these rows are the minibatch, as far as verl says how large that is."""
    tokens, rows = info.get("batch_num_tokens"), info.get("global_batch_size")
    same_tokens = tokens is None or int(tokens) == int(mask.sum())
    return info.get("dp_size", 1) == 1 and same_tokens and (rows is None or int(rows) == len(mask))
