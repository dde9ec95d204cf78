"""SimPO: mean log-probabilities with a margin, and no reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from harness import hookimpl, method
from harness_papers.preference.ranked import logistic, ranked_pairs

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="simpo", paper="2405.14734")
class SimPO:
    """The better completion's mean log-probability is raised above the worse one's by a margin, without a reference.

    p_i = (1/T_i) sum_t logp;  L = mean over prompts, and over the pairs of a group, of
    -ln sigmoid(beta (p_w - p_l) - gamma).

    beta, gamma: the paper's ranges are 2 to 2.5 and 0.3 to 1.6; 2 and 0.5 are those of TRL. pairs: "extremes" is the
    best against the worst, "ordered" every pair with unequal rewards.
    margin: the least difference of rewards that is a preference; without one, small shaped parts of the reward decide
    between two wrong answers as if it mattered.
    Edge cases: ties are no pair; an empty completion has p = 0.
    Source: arXiv 2405.14734, TRL. Confidence: code.
    """

    beta: float = 2.0
    gamma: float = 0.5
    pairs: Literal["extremes", "ordered"] = "extremes"
    margin: float = 0.0

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean over pairs."""
        pairs = ranked_pairs(batch, self.pairs, self.margin)
        return pairs.mean(logistic(self.beta * pairs.gap(batch.sequence_mean(output.logp)) - self.gamma))
