"""LENS: groups without success teach through confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.logps import mean_logp

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2510.08696", base="grpo(beta=0)", scope="group", experimental=True)
class LENS:
    """A wrong answer loses by the policy's odds of giving it, so that groups of wrong answers teach as well.

    p_i = exp(mean_t logp_old), c_i the verdict;  D = 2 max_j p_j, in mixed groups at least 1 / mean_j(c_j / p_j);
    R'_i = R_i - (1 - c_i) (1/G) p_i / (D - p_i);  mixed: z-score of R' (n - 1, + eps);  all wrong:
    alpha (R'_i - mean_g(R')), without a std;  all right: 0.

    Edge cases: all wrong and equally likely gives 0; the least likely wrong answers gain; groups of one give 0.
    Source: arXiv 2510.08696. Confidence: paper (that p is length-normalised in D too is reconstructed).
    """

    alpha: float = 0.25
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """By what kind of group it is."""
        groups, shaped = batch.groups, self._shaped(batch)
        number = groups.count(batch.correct)
        right, wrong = number == groups.count(), number == 0
        found = torch.where(wrong, self.alpha * groups.center(shaped), groups.standardize(shaped, eps=self.eps))
        return torch.where(right, torch.zeros_like(found), found)

    def _shaped(self, batch: Batch) -> Tensor:
        groups, correct = batch.groups, batch.correct.to(batch.rewards.dtype)
        likely = mean_logp(batch).to(correct.dtype).exp()
        ceiling = 2 * groups.max(likely)
        share = groups.mean(correct / likely)
        mixed = torch.where(share > 0, 1 / torch.where(share > 0, share, 1.0), 0.0)
        odds = likely / (torch.maximum(ceiling, mixed) - likely)
        return batch.reward - (1 - correct) * odds / groups.count()
