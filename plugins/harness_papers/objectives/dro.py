"""DRO: policy gradient with a quadratic leash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import sequence_sum_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="dro", paper="2405.19107", scope="group")
class DRO:
    """A policy gradient whose log ratio is pulled back quadratically, so that it needs no ratio and no clip.

    l = -A logp + (beta / 2) (logp - logp_old)^2 for every token;  L = mean over completions of the sum over tokens.

    The advantage is the plugin's below, reward minus group mean by default (the paper learns a value). beta: the
    paper's temperature, 1 (verl has no default). The paper squares the log ratio of the whole completion against the
    reference: that is opmd-kimi, against the start of the step; verl's is per token, as here.
    Edge cases: the stationary point is a log ratio of A / beta; an advantage of 0 still pulls towards 0.
    Source: arXiv 2405.19107; verl ("dro"). Confidence: code.
    """

    beta: float = 1.0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Score function plus square."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp + self.beta / 2 * output.log_ratio.square()

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
