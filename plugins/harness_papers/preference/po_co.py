"""PO: rewards become comparisons, whatever their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.preference.ranked import logistic, ranked_pairs

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="po-co", paper="2505.08735")
class POCO:
    """Every pair of a group with unequal rewards is a comparison that the policy's own log-probabilities explain.

    L = mean over prompts, and over the pairs with R_i > R_j, of -ln F(alpha (sum_t logp_i - sum_t logp_j));
    F is the sigmoid (link "logistic", Bradley-Terry) or the normal distribution ("probit", Thurstone).

    alpha: 0.01 to 0.05, not verified. normalize: mean log-probabilities; the paper's solutions have one length. Its
    local search for better solutions is left out.
    Edge cases: ties are no pair; no monotone map of the rewards changes anything.
    Source: arXiv 2505.08735, the abstract and knowledge of it. Confidence: secondary.
    """

    alpha: float = 0.05
    link: Literal["logistic", "probit"] = "logistic"
    normalize: bool = False

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean over pairs."""
        pairs = ranked_pairs(batch, "ordered")
        likely = batch.sequence_mean(output.logp) if self.normalize else batch.sequence_sum(output.logp)
        margin = self.alpha * pairs.gap(likely)
        return pairs.mean(logistic(margin) if self.link == "logistic" else -torch.special.log_ndtr(margin))
