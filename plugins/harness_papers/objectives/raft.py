"""RAFT: train on what was rewarded, ignore the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2504.11343")
class RAFT:
    """Cross-entropy on the completions with a positive reward, weighted by it.

    A_i = max(R_i, 0);  L = sum_{i,t} -A_i logp_{i,t} / number of tokens of the minibatch, rejected ones included, so
    that the step shrinks with the pass rate. (The paper's rewards are -1 and 1; the authors' runs add a k3 penalty of
    0.001 to the loss as well, which is raft+kl(beta=0.001) here.)

    only_correct: reject by the task's verdict, for tasks whose other columns reward wrong answers too.
    only_accepted: divide by the tokens of accepted completions, as supervised fine-tuning would.
    Edge cases: all wrong gives no gradient; all right trains on all, unlike GRPO, as does a group of
    one that is right; nothing accepted gives loss 0.
    Source: arXiv 2504.11343 and the authors' code (arXiv 2304.06767 keeps the best of G). Confidence: code.
    """

    only_correct: bool = False
    only_accepted: bool = False

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The positive part of the reward."""
        accepted = batch.reward.clamp_min(0)
        return accepted * batch.correct if self.only_correct else accepted

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Weighted cross-entropy; it takes no ratio and no weights of a loss aggregation."""
        assert batch.advantages is not None
        counted = batch.mask * (batch.advantages > 0) if self.only_accepted else batch.mask
        return masked(-batch.advantages * output.logp, batch.mask).sum() / counted.sum().clamp_min(1)
