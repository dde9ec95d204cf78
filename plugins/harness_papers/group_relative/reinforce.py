"""REINFORCE with the batch's mean reward as the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import Groups, hookimpl, method, standardize
from harness.mathematics import sequence_sum_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2402.14740")
class Reinforce:
    """Plain policy gradient on whole completions, with one baseline for the whole batch.

    A_i = R_i - mean_b(R);  token loss -A_i logp_{i,t}, without ratio or clip;  L = (1/N) sum_i sum_t over the N
    completions that have tokens, so that a completion is one action.

    leave_one_out: the mean of the others instead, which removes the bias by (N - 1)/N. scale: divide by the batch's
    std as well (whitened REINFORCE). eps: added to that std.
    Edge cases: equal rewards give 0; groups do not matter, so a group that is all right still gains where others fail.
    Source: Williams 1992; as a baseline for language models arXiv 2402.14740. Confidence: code.
    """

    leave_one_out: bool = False
    scale: bool = False
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """R_i minus the mean over the batch."""
        everyone = Groups(batch.prompt * 0)
        if not self.leave_one_out:
            return standardize(batch.reward, eps=self.eps) if self.scale else everyone.center(batch.reward)
        apart = batch.reward - everyone.leave_one_out_mean(batch.reward)
        return apart / (everyone.std(batch.reward) + self.eps) if self.scale else apart

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of every token."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
