"""DPO: the better completion's log-ratio is raised above the worse one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from harness import hookimpl, method
from harness_papers.preference.ranked import logistic, ranked_pairs, reference_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="dpo", paper="2305.18290", needs={"reference"})
class DPO:
    """A logistic regression on pairs makes the log-ratio to the reference the reward that explains them.

    D_i = sum_t (logp - logp_ref);  L = mean over prompts, and over the pairs of a group, of
    -(1 - smoothing) ln sigmoid(beta (D_w - D_l)) - smoothing ln sigmoid(-beta (D_w - D_l)).

    The paper trains on given pairs; here a group's rewards form them, anew at every step. pairs: "extremes" is the best
    against the worst, "ordered" every pair with unequal rewards. smoothing: the share of wrong labels (conservative
    DPO), 0 in the paper.
    margin: the least difference of rewards that is a preference; without one, small shaped parts of the reward decide
    between two wrong answers as if it mattered.
    Edge cases: ties are no pair; a batch without any has loss 0.
    Source: arXiv 2305.18290, TRL. Confidence: code.
    """

    beta: float = 0.1
    smoothing: float = 0.0
    pairs: Literal["extremes", "ordered"] = "extremes"
    margin: float = 0.0

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean over pairs."""
        pairs = ranked_pairs(batch, self.pairs, self.margin)
        return pairs.mean(logistic(self.beta * reference_gap(batch, output, pairs), self.smoothing))
