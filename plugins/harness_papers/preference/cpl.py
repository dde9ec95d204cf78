"""CPL: compare completions by their own log-probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from harness import hookimpl, method
from harness.mathematics import masked
from harness_papers.preference.ranked import ranked_pairs

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="cpl", paper="2310.13639")
class CPL:
    """A completion scores by its own discounted log-probability, and scores are compared logistically.

    a_i = alpha sum_t gamma^(t-1) logp, t counting the tokens that train;  L = mean over prompts, and over the pairs of
    a group, of softplus(lam a_l - a_w), plus clone times minus the mean over pairs of sum_t logp(y_w).

    lam below 1 makes the loser's score matter less, which keeps the policy near the data. alpha and lam are those of
    the published configurations (1 and 1 in the class). normalize: a over the length; the paper compares segments of
    one length, and long completions have low scores. pairs: "extremes" is the best against the worst, "ordered" every
    pair with unequal rewards. The warm-up by cloning is left out.
    Edge cases: ties are no pair.
    Source: arXiv 2310.13639, the authors' code. Confidence: code.
    """

    alpha: float = 0.1
    lam: float = 0.5
    gamma: float = 1.0
    clone: float = 0.0
    normalize: bool = False
    pairs: Literal["extremes", "ordered"] = "extremes"

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The biased logistic loss, and cloning."""
        pairs, logp = ranked_pairs(batch, self.pairs), masked(output.logp, batch.mask)
        place = ((batch.mask > 0).cumsum(-1) - 1).clamp_min(0).to(logp.dtype)
        weighted = logp * torch.full_like(logp, self.gamma) ** place
        score = self.alpha * (batch.sequence_mean(weighted) if self.normalize else batch.sequence_sum(weighted))
        compared = pairs.mean(softplus(self.lam * score[pairs.second] - score[pairs.first]))
        if not self.clone:
            return compared
        return compared - self.clone * pairs.mean(batch.sequence_sum(logp)[pairs.first])
