"""The KL penalty that some methods put into the reward instead of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness.errors import PluginError
from harness.mathematics import KLKind, kl_estimate, masked

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["add_kl_reward", "written_kl"]


def add_kl_reward(batch: Batch, beta: float, kind: KLKind = "k1") -> Batch:
    """The batch with -beta times the KL of every token added to its reward, as the token column `kl`.

    Raises PluginError without reference log-probabilities.
    """
    return batch.add_reward("kl", written_kl(batch, kind), weight=-beta)


def written_kl(batch: Batch, kind: KLKind = "k1") -> Tensor:
    """[N, T] the estimate of KL(pi || pi_ref) at the policy that wrote the tokens, without gradient, 0 where masked.

    Raises PluginError without reference log-probabilities.
    """
    if batch.logp_ref is None:
        msg = "a KL reward needs batch.logp_ref; declare needs={'reference'}, or set beta=0"
        raise PluginError(msg)
    logp = batch.logp_sampler if batch.logp_old is None else batch.logp_old
    return masked(kl_estimate(logp, batch.logp_ref, kind), batch.mask)
