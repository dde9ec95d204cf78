"""REBEL: regress differences of log-ratios on differences of rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import all_pairs_square, group_average
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="rebel", paper="2404.16767")
class REBEL:
    """The difference of two completions' log-ratios is regressed on the difference of their rewards.

    D_i = sum_t (logp - logp_old);  L = mean over prompts, and over all pairs of a group, of
    ( (D_i - D_j) / eta - (R_i - R_j) )^2.

    eta: 1 in the paper's chat runs, tuned elsewhere. divide: False multiplies the reward instead,
    (D_i - D_j - eta (R_i - R_j))^2, as the authors' code. The paper draws two completions a prompt.
    Edge cases: equal rewards draw log-ratios together; a group of one gives 0; all pairs are GVPO up to a factor.
    Source: arXiv 2404.16767 and the authors' code. Confidence: code.
    """

    eta: float = 1.0
    divide: bool = True

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean square over pairs."""
        groups, who = batch.groups, counted(batch)
        ratio = completion_log_ratio(batch, output, "old")
        residual = ratio / self.eta - batch.reward if self.divide else ratio - self.eta * batch.reward
        number = groups.count(who, expand=False)
        pairs = (number * (number - 1) / 2).clamp_min(1)
        return group_average(groups, all_pairs_square(groups, residual, who) / pairs, who)
