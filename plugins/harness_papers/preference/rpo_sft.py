"""RPO: DPO with an anchor on the chosen answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.preference.ranked import best_and_worst, logistic, reference_gap

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="rpo-sft", paper="2405.16436", base="dpo", needs={"reference"}, neutral={"eta": 0.0})
class RPOSFT:
    """DPO plus the likelihood of the chosen answer, which is what a reward that fights overoptimisation comes to.

    D_i = sum_t (logp - logp_ref);  L = mean over prompts, with the best and the worst of a group, of
    -ln sigmoid(beta (D_w - D_l)) - eta sum_t logp(y_w).

    normalize: the mean over tokens instead of their sum, as TRL has it; the weights are not interchangeable.
    Edge cases: ties are no pair, and then nothing is anchored.
    Source: arXiv 2405.16436, TRL. Confidence: secondary.
    """

    beta: float = 0.1
    eta: float = 0.005
    normalize: bool = False

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The logistic loss and the anchor."""
        pairs = best_and_worst(batch)
        likely = batch.sequence_mean(output.logp) if self.normalize else batch.sequence_sum(output.logp)
        preferred = pairs.mean(logistic(self.beta * reference_gap(batch, output, pairs)))
        return preferred - self.eta * pairs.mean(likely[pairs.first]) if self.eta else preferred
