"""EXO: reverse KL between the policy and the rewards, over a few completions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import group_average
from harness_papers.preference.ranked import best_and_worst, reference_gap
from harness_papers.whole_groups import completion_log_ratio, counted, log_shares

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

UNLIKELY = -10.0  # the authors' log-target of the worse one; the better one's is 0


@method(name="exo", paper="2402.00856", needs={"reference"})
class EXO:
    """The policy among a group's completions is fitted to a softmax of their rewards by the reverse KL, as RL would.

    u_i = beta sum_t (logp - logp_ref), q = softmax_g(u), p = softmax_g(R / beta_r);
    L = mean over prompts of sum_i q_i (ln q_i - ln p_i).

    target: "pairs" takes the best against the worst with ln p = (ln(1 - eps), ln eps); eps None is the authors' 0 and
    -10, which do not sum to 1. beta and beta_r are 1 in the authors' arguments and tuned in the paper.
    Edge cases: a group of one, and in pairs a tie, gives 0; equal rewards draw the log-ratios together.
    Source: arXiv 2402.00856, the authors' code, TRL (eps 1e-3). Confidence: code.
    """

    beta: float = 1.0
    beta_r: float = 1.0
    target: Literal["rewards", "pairs"] = "rewards"
    eps: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if self.eps is not None and not 0 < self.eps < 1:
            raise PluginError(f"exo(eps={self.eps}): a share between 0 and 1, or None")

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The divergence from the target."""
        if self.target == "pairs":
            return self._pairs(batch, output)
        groups, who = batch.groups, counted(batch)
        score = self.beta * completion_log_ratio(batch, output, "reference")
        log_q, log_p = (log_shares(groups, x, who) for x in (score, batch.reward / self.beta_r))
        return group_average(groups, groups.sum(log_q.exp() * (log_q - log_p), who, expand=False), who)

    def _pairs(self, batch: Batch, output: PolicyOutput) -> Tensor:
        pairs = best_and_worst(batch)
        gap = self.beta * reference_gap(batch, output, pairs)
        better, worse = (0.0, UNLIKELY) if self.eps is None else (math.log1p(-self.eps), math.log(self.eps))
        first = gap.sigmoid() * (logsigmoid(gap) - better)
        return pairs.mean(torch.add(first, (-gap).sigmoid() * (logsigmoid(-gap) - worse)))
