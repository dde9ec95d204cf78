"""DPPO: the policy is drawn near preferred completions and away from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn.functional import softplus

from harness import hookimpl, method
from harness_papers.preference.ranked import ranked_pairs

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="dppo-preference", paper="2301.12842", experimental=True)
class DPPOPreference:
    """The policy's distance to the better completion of a pair is contrasted with a part of that to the worse one.

    x_i = -(1/T_i) sum_t logp;  L = mean over prompts, and over all pairs of a group with unequal rewards, of
    -ln( e^-x_w / (e^-x_w + e^(-lam x_l)) ).

    The paper's distance is that of actions in control; the one for language is ours. Its preference model ranks the
    pairs there, rewards do here. lam: 0.1 to 1, tuned.
    Edge cases: lam = 0 ignores the loser; ties are no pair.
    Source: arXiv 2301.12842, the authors' code for control. Confidence: abstract (reconstructed for language).
    """

    lam: float = 0.5

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean over pairs."""
        pairs, distance = ranked_pairs(batch, "ordered"), -batch.sequence_mean(output.logp)
        return pairs.mean(softplus(distance[pairs.first] - self.lam * distance[pairs.second]))
