"""DNO: regress on the win rates of the policy's own completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import only_scored
from harness_papers.preference.ranked import logistic, ranked_pairs
from harness_papers.preference.spo_selfplay import win_rates
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="dno", paper="2404.03715")
class DNO:
    """Two completions' log-ratios to the last iterate are fitted to how often each of them beats its siblings.

    r_i = share of the group that i beats (ties 1/2), D_i = sum_t (logp - logp_old), s = sigmoid(r_1 - r_2);
    L = mean over prompts, and over all pairs, of -s ln sigmoid(eta (D_1 - D_2)) - (1 - s) ln sigmoid(eta (D_2 - D_1)).

    The iterate is the policy at the start of the step. Rewards decide who beats whom; the paper asks a judge. margin:
    with a number only pairs whose win rates differ by as much count, and s = 1 (the practical variant, whose teacher's
    answers are left out). eta: about 0.1.
    Edge cases: s = 1/2 draws log-ratios together; a group of one has no pair.
    Source: arXiv 2404.03715, the abstract and knowledge of it. Confidence: secondary.
    """

    eta: float = 0.1
    margin: float | None = None

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The cross-entropy over pairs."""
        who = counted(batch)
        reward = torch.where(who, only_scored(batch.reward, batch.rewards), torch.nan)
        rates = win_rates(batch.groups, reward)
        pairs, wrong = ranked_pairs(batch, "every"), torch.zeros(())
        if self.margin is None:
            wrong = (-pairs.gap(rates)).sigmoid()
        else:
            pairs = ranked_pairs(batch, "ordered")
            pairs = pairs.where(pairs.gap(rates) >= self.margin, batch.groups)
        return pairs.mean(logistic(self.eta * pairs.gap(completion_log_ratio(batch, output, "old")), wrong))
