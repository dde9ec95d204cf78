"""GSPO-token: the completion's ratio, with a gradient of its own for every token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import log_gap, ppo_clip_loss, sequence_log_ratio
from harness_papers.objectives.gspo import GSPO

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="gspo-token", paper="2507.18071")
class GSPOToken(GSPO):
    """GSPO's ratio of the completion as the value, the token's own gradient: token advantages keep their differences.

    s_{i,t} = sg[s_i] pi / sg[pi], s_i the length-normalised ratio;  l = -min(s A, clip(s, 1 - clip_low, 1 + clip_high)
    A) with A_{i,t};  L = mean over a completion's tokens, then over completions.

    For one advantage per completion it is GSPO in value and gradient; with token advantages GSPO takes their mean. eps:
    as there.
    Edge cases: as GSPO, but a clipped completion may keep tokens whose advantage has the other sign.
    Source: arXiv 2507.18071; verl ("gspo"), TRL. Confidence: code.
    """

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate of the sequence ratio, token by token."""
        assert batch.advantages is not None
        ratio = sequence_log_ratio(output.log_ratio, batch.mask, eps=self.eps).exp().detach()
        through = log_gap(output.logp, output.logp.detach(), batch.mask).exp()
        return ppo_clip_loss(ratio * through, batch.advantages, self.clip_low, self.clip_high)
