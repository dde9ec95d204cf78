"""GVPO: regress the centred log-ratio on the centred reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import group_average
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2504.19599",
    needs=lambda m: {"reference"} if m.anchor == "reference" else set(),
    search={"beta": (0.03, 0.3, "log")},
)
class GVPO:
    """The centred implicit reward of a group is fitted to its centred reward; the partition function cancels.

    h_i = beta sum_t (logp - logp_old), A_i = R_i - mean_g(R) (not scaled);
    L = mean over prompts of (1 / (G - 1)) sum_i 1/2 (h_i - sg[mean_g h] - A_i)^2.

    The mean of h is held constant: residuals sum to 0, so the gradient is the same. anchor: "old", or "reference".
    average: False sums over prompts, as the public recipe does.
    Edge cases: a group of one gives 0; equal rewards draw the log-ratios of a group together.
    Source: arXiv 2504.19599, verl's recipe. Confidence: code.
    """

    beta: float = 0.1
    anchor: str = "old"
    average: bool = True

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, not scaled."""
        return batch.groups.center(batch.reward, counted(batch))

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Half the scatter of the residuals."""
        groups, who = batch.groups, counted(batch)
        implicit = self.beta * completion_log_ratio(batch, output, self.anchor)
        residual = implicit - groups.mean(implicit.detach(), who) - batch.advantage
        number = groups.count(who, expand=False)
        scatter = groups.sum(residual.square(), who, expand=False) / (2 * (number - 1).clamp_min(1)) * (number > 1)
        return group_average(groups, scatter, who) if self.average else scatter.sum()
