"""On-policy SFT: maximum likelihood of the policy's own correct answers that fit the budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import token_mean_weights
from harness_papers.reward_columns import verdict

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="on-policy-sft", paper="2602.13407", scope="group")
class OnPolicySFT:
    """Generate under a short budget, keep what is correct and finished, and maximise its likelihood.

    L = -sum logp over the tokens of kept completions / their number, in every minibatch: no advantage, no ratio, no KL.

    budget: tokens that a completion may have, as a share of the suite's limit (3500 in the paper; 1 leaves the limit
    alone).
    Edge cases: all wrong is dropped, all right is kept whole, unlike GRPO, a group of one too; nothing kept, no step.
    Long completions weigh more. The gradient is that of REINFORCE with reward 1[correct and finished], up to the
    divisor.
    Source: arXiv 2602.13407, the authors' code. Confidence: code.
    """

    budget: float = 1.0

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """The same requests under the budget."""
        requests = yield
        return [dataclasses.replace(r, max_tokens=max(1, round(self.budget * r.max_tokens))) for r in requests]

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """1 for what is kept."""
        return verdict(batch) * ~batch.truncated

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """Correct and finished."""
        return batch.correct & ~batch.truncated

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token of a kept completion weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, output: PolicyOutput) -> Tensor:
        """Cross-entropy."""
        return -output.logp
