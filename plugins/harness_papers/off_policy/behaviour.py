"""How far the learner is from the policy that wrote the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.errors import PluginError
from harness.mathematics import log_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

__all__ = ["behaviour_log_ratio", "behaviour_logp", "check_choice", "sampler_gap"]


def sampler_gap(batch: Batch, *, stale_only: bool = False) -> Tensor:
    """[N, T] log pi_old - log pi_sampler: the learner at the start of the step against what wrote the tokens.

    For fresh rows it is the gap of two implementations of the same weights, for rows with `age` > 0 their staleness
    too. 0 where masked, where the sampler's log-probability is not known (NaN), and with `stale_only` in fresh rows.
    """
    if batch.logp_old is None:
        raise PluginError("a correction needs batch.logp_old; the loop sets it before the loss, this hook runs earlier")
    gap = log_gap(batch.logp_old, batch.logp_sampler, batch.mask)
    return gap * (batch.age > 0)[:, None] if stale_only else gap


def behaviour_log_ratio(batch: Batch, output: PolicyOutput, against: str = "auto") -> Tensor:
    """[N, T] log pi - log of the policy that wrote the tokens, clamped to +-20, 0 where masked or unknown.

    against: "sampler" takes what the sampler reported, "old" the learner at the start of the step, "auto" the sampler
    for stale rows (`age` > 0) and the learner for fresh ones, which it differs from by rounding only.
    """
    check_choice("against", against, ("auto", "old", "sampler"))
    if against == "old":
        return output.log_ratio
    sampled = log_gap(output.logp, batch.logp_sampler, batch.mask)
    return sampled if against == "sampler" else torch.where((batch.age > 0)[:, None], sampled, output.log_ratio)


def behaviour_logp(batch: Batch, output: PolicyOutput) -> Tensor:
    """[N, T] log of the policy that sampled; of the learner at the start of the step where that is not known (NaN)."""
    return torch.where(batch.logp_sampler.isnan(), output.logp_old, batch.logp_sampler)


def check_choice(field: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise PluginError for a value that is none of the choices."""
    if value not in choices:
        raise PluginError(f"{field}={value!r}: choose {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")
