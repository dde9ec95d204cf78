"""Trust-GRPO: a thinking reward that is trusted as far as it prefers correct answers."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch

from harness import hookimpl, method
from harness_papers.reward_columns import column, in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="trust-grpo", paper="2505.17018", base="grpo(beta=0)")
class TrustGRPO:
    """A thinking reward fades over training, and in groups where it prefers the wrong completions.

    R_i = c_i + alpha g exp(-step / horizon) t_i;  g = 1 if mean_right(t) >= mean_wrong(t), else
    exp(mean_right(t) - mean_wrong(t)); in place of the task's columns. A group all right or all wrong keeps c alone.

    t is a judge's score in the paper; here the first of the columns `thinking` that the tasks have, of which `steps` is
    the share of right scratchpad steps; 0 for rows without. judge_wrong: False takes 0 for wrong completions, as the
    released code does; g is 1 then.
    Edge cases: no wrong or no right ones: the thinking reward is 0.
    Source: arXiv 2505.17018, the authors' code. Confidence: code.
    """

    alpha: float = 0.3
    horizon: float = 500.0
    thinking: tuple[str, ...] = ("steps", "quality", "format")
    judge_wrong: bool = True

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """Verdict plus trusted thinking."""
        batch = yield
        groups, correct, right = batch.groups, batch.correct, verdict(batch)
        thinking = column(batch, self.thinking, "trust-grpo").nan_to_num()
        if not self.judge_wrong:
            thinking = thinking * right
        lead = groups.mean(thinking, correct) - groups.mean(thinking, ~correct)
        trust = lead.clamp_max(0).exp() * (groups.any(correct) & groups.any(~correct))
        faded = self.alpha * math.exp(-state.step / self.horizon)
        return in_place(batch, "trusted", right + faded * torch.nan_to_num(trust) * thinking)
