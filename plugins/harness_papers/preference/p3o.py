"""P3O: PPO on differences of rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss
from harness_papers.kl_reward import written_kl
from harness_papers.preference.ranked import ranked_pairs
from harness_papers.whole_groups import completion_log_ratio

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LIMIT = 20.0


@method(name="p3o", paper="2310.00212", needs=lambda m: {"reference"} if m.beta else set(), clips=True)
class P3O:
    """A clipped policy gradient on the reward difference of two completions: no shift of a prompt's rewards moves it.

    R'_i = R_i - beta sum_t (logp_old - logp_ref), w_i = exp(sum_t (logp - logp_old)), A = (R'_1 - R'_2) / 2;
    L = mean over prompts, and over all pairs of a group, of the clipped loss of w_1 with A plus that of w_2 with -A.

    This is the form that clips each ratio by itself; the one that clips them jointly was not seen. The paper draws two
    completions a prompt; beta is tuned there. clip: both bounds. Ratios are those of whole completions.
    Edge cases: equal R' give 0; a group of one has no pair; on-policy and with two completions the gradient is
    RLOO's.
    Source: arXiv 2310.00212 by way of a transcription of the authors' page. Confidence: secondary.
    """

    beta: float = 0.04
    clip: float = 0.2

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Both clipped losses of every pair."""
        reward = batch.reward
        if self.beta:
            reward = reward - self.beta * batch.sequence_sum(written_kl(batch))
        ratio = completion_log_ratio(batch, output, "old").clamp(-LIMIT, LIMIT).exp()
        pairs = ranked_pairs(batch, "every")
        ahead = pairs.gap(reward.detach()) / 2
        first = ppo_clip_loss(ratio[pairs.first], ahead, self.clip, self.clip)
        second = ppo_clip_loss(ratio[pairs.second], -ahead, self.clip, self.clip)
        return pairs.mean(torch.add(first, second))
