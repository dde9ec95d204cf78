"""The KL penalty that some methods put into the reward instead of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import PluginError
from harness.mathematics import kl_estimate, masked

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["add_kl_reward"]


def add_kl_reward(batch: Batch, beta: float) -> Batch:
    """The batch with -beta (logp - logp_ref) added to every token's reward, as the token column `kl`.

    k1 at the policy that wrote the tokens, without gradient. Raises PluginError without reference log-probabilities.
    """
    if batch.logp_ref is None:
        msg = "a KL reward needs batch.logp_ref; declare needs={'reference'}, or set beta=0"
        raise PluginError(msg)
    logp = batch.logp_sampler if batch.logp_old is None else batch.logp_old
    return batch.add_reward("kl", masked(kl_estimate(logp, batch.logp_ref, "k1"), batch.mask), weight=-beta)
