"""Every number that a step logs, under names that any tracking store takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["NAMES", "safe", "sampled", "trained"]

NAMES: dict[str, str] = {
    "step": "number of the step, from 0",
    "spent": "budget spent by the end of the step, in its currency",
    "progress": "fraction of the budget spent by the end of the step",
    "rollouts": "completions sampled for training",
    "rounds": "rounds of sampling",
    "tokens": "tokens of those completions",
    "reward": "mean reward of all sampled rows, before shaping",
    "correct": "share of sampled rows whose outcome is correct",
    "length": "mean completion length in tokens, end token included",
    "truncated": "share of sampled rows that hit max_tokens",
    "surprisal": "mean of minus the sampled tokens' log-probability: an unbiased estimate of the entropy",
    "entropy": "mean token entropy at the step's start, where the stack asked for it",
    "zero_variance": "share of groups, among sampled rows, whose rewards are all equal",
    "kept": "share of sampled rows that stayed after keep",
    "waste": "share of sampled tokens that were thrown away",
    "advantage_size": "mean absolute advantage of the rows that trained",
    "loss": "the minibatches' loss, averaged over trained tokens",
    "grad_norm": "norm of the policy's gradient before clipping",
    "lr": "the policy's learning rate",
    "updates": "optimizer steps",
    "tokens_trained": "tokens that entered a loss, every epoch counted",
    "clip_share": "share of trained tokens with an advantage and no gradient from the policy objective",
    "log_ratio_max": "largest absolute log ratio of the policy to the step's start",
    "kl_reference": "mean k3 estimate of the divergence from the initial policy, where the stack asked for it",
    "logp_gap": "mean absolute difference of the learner's log-probabilities to the sampler's",
    "logp_gap_max": "its largest value",
    "ess_tokens": "effective share of tokens under the ratios of learner to sampler: 1 where both agree",
    "ess_rows": "the same for whole completions, whose ratios multiply up",
    "age": "steps between the weights that sampled and those that train",
}

_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]")


def safe(name: str) -> str:
    """A name of letters, digits, `_`, `.` and `-`: any other character is written `_xHEX_`, its code point."""
    return _UNSAFE.sub(lambda match: f"_x{ord(match.group()):x}_", name)


def sampled(batch: Batch) -> dict[str, float]:
    """Statistics of every row that the step sampled, dropped rows included; `reward/NAME` is a column's mean."""
    values: dict[str, Tensor] = {
        "reward": batch.reward.mean(),
        "correct": batch.correct.float().mean(),
        "length": batch.lengths.float().mean(),
        "truncated": batch.truncated.float().mean(),
        "surprisal": -_token_mean(batch.logp_sampler, batch.mask),
        "zero_variance": (batch.groups.max(batch.reward, expand=False) == batch.groups.min(batch.reward, expand=False))
        .float()
        .mean(),
        "kept": batch.kept.float().mean(),
        "waste": 1 - (batch.lengths * batch.kept).sum() / batch.lengths.sum().clamp_min(1),
        "age": batch.age.float().mean(),
    }
    applies = (~batch.rewards.isnan()).sum(0)
    means = torch.nan_to_num(batch.rewards).sum(0) / applies.clamp_min(1)
    for column, name in enumerate(batch.reward_names):
        values[f"reward/{safe(name)}"] = means[column]
    return _floats(values) | {
        "rollouts": float(len(batch)),
        "tokens": float(batch.lengths.sum()),
        "rounds": float(batch.round.max() + 1) if len(batch) else 0.0,
    }


def trained(batch: Batch) -> dict[str, float]:
    """Statistics of the rows that entered the loss, over the tokens that did."""
    values: dict[str, Tensor] = {}
    if batch.advantages is not None:
        values["advantage_size"] = batch.advantage.abs().mean()
    if batch.entropy is not None:
        values["entropy"] = _token_mean(batch.entropy, batch.mask)
    if batch.logp_old is not None:
        drift = torch.where(batch.mask > 0, batch.logp_old - batch.logp_sampler, torch.zeros_like(batch.logp_old))
        gap = drift.abs()
        values |= {"logp_gap": _token_mean(gap, batch.mask), "logp_gap_max": gap.max() if gap.numel() else gap.sum()}
        values |= {"ess_tokens": effective_share(drift[batch.mask > 0]), "ess_rows": effective_share(drift.sum(-1))}
        if batch.logp_ref is not None:
            ratio = (batch.logp_ref - batch.logp_old) * (batch.mask > 0)
            values["kl_reference"] = _token_mean(ratio.exp() - 1 - ratio, batch.mask)
    return _floats(values)


def effective_share(log_ratio: Tensor) -> Tensor:
    """(sum w)^2 / (n sum w^2) of weights w = exp(log_ratio) [n] (Kish 1965).

    1 where all are equal (or there is none), 1/n where one rules.
    """
    if not log_ratio.numel():
        return torch.ones((), dtype=log_ratio.dtype, device=log_ratio.device)
    twice = 2 * log_ratio.logsumexp(0) - (2 * log_ratio).logsumexp(0)
    return twice.exp() / log_ratio.numel()


def _token_mean(x: Tensor, mask: Tensor) -> Tensor:
    on = mask > 0
    return torch.where(on, x, torch.zeros((), dtype=x.dtype, device=x.device)).sum() / on.sum().clamp_min(1)


def _floats(values: dict[str, Tensor]) -> dict[str, float]:
    """All values in one transfer."""
    if not values:
        return {}
    numbers = torch.stack([value.detach().to(torch.float64) for value in values.values()]).tolist()
    return dict(zip(values, numbers, strict=True))
