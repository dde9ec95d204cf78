"""Discounted GRPO: every token by its return, in units of the group's returns from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import discounted_returns, masked

if TYPE_CHECKING:
    from harness import Batch


@method(name="grpo-discounted", paper="2510.14967", base="grpo(beta=0.001)", scope="group")
class GRPODiscounted:
    """Each token's discounted return is compared with the group's returns of the first tokens.

    G_{i,t} = sum_{t' >= t} gamma^(t' - t) r_{i,t'}, an outcome on the last token;
    A_{i,t} = (G_{i,t} - mean_g(G_first)) / (std_g(G_first) + eps), std over n - 1.

    This is the second estimator in the code of IGPO, whose rewards of turns need several turns and a reference answer;
    any token column of a task stands in for them. gamma: 0.5 there. scale: False leaves the std out.
    Edge cases: gamma = 1 and outcomes only is GRPO; a group of one, and one whose first returns are equal, has
    the std 1; empty completions have no part; late tokens of right answers gain whatever the group does.
    Source: the authors' code (IGPO). Confidence: code.
    """

    gamma: float = 0.5
    scale: bool = True
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Returns, centred and scaled by those from the start."""
        returns, written = discounted_returns(batch.token_rewards, batch.mask, self.gamma), batch.mask > 0
        place = written.cumsum(1)
        first, any_token = torch.where(written & (place == 1), returns, 0.0).sum(1), written.any(1)
        groups = batch.groups
        std = groups.std(first, any_token)
        unit = torch.where(std > 0, std, 1.0) + self.eps if self.scale else torch.ones_like(std)
        return masked((returns - groups.mean(first, any_token)[:, None]) / unit[:, None], batch.mask)
