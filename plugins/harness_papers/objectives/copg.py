"""CoPG: the other completion's regularised reward is the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import all_pairs_square, group_average
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="copg", paper="2406.19185", needs={"reference"})
class CoPG:
    """A policy gradient whose baseline is a sibling's reward minus its KL, at the current policy: right off-policy.

    Rb_i = R_i - beta sum_t (logp - logp_ref);  L = mean over prompts of (1 / (2 beta G (G - 1))) times the sum over
    pairs of (Rb_i - Rb_j)^2, differentiated through Rb: on-policy the gradient is that of RLOO with the KL in the
    reward, mean over completions.

    beta: 0.03 to 0.1 (not verified).
    Edge cases: equal rewards leave the contrast of the KLs; a group of one gives 0.
    Source: arXiv 2406.19185, and a summary of the Command A report for more than two completions. Confidence:
    secondary.
    """

    beta: float = 0.1

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The scaled square over pairs."""
        groups, who = batch.groups, counted(batch)
        regular = batch.reward - self.beta * completion_log_ratio(batch, output, "reference")
        number = groups.count(who, expand=False)
        pairs = (number * (number - 1)).clamp_min(1)
        return group_average(groups, all_pairs_square(groups, regular, who) / pairs, who) / (2 * self.beta)
