"""AWPO: the reasoning reward is mixed in where it separates a group and the outcome does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss
from harness_papers.reward_columns import column, verdict

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2512.19126", base="grpo(beta=0)", clips=True, experimental=True)
class AWPO:
    """Mix outcome and reasoning reward by their spread, weigh groups by difficulty, clip harder the more is mixed in.

    rho = s_mix / (s_out + s_mix + eps), s_mix the std of (r_out + r_reason) / 2, s_out of r_out;
    R_i = (1 - rho) r_out + rho r_reason;  A_i = 4 mu (1 - mu) (R_i - mean_g(R)) / (std_g(R) + eps), mu = mean_g(r_out);
    clip range = clip / (1 + eta mean_b(rho)). All std over n.

    r_out is the task's verdict. reason: a judge's score of the reasoning in the paper; here the first of these columns
    that the tasks have, of which `steps` is the share of right scratchpad steps. Rows without it keep their outcome.
    Reconstructed: what the std of the mixed reward is taken of, which in the paper depends on rho; clip and eps.
    Edge cases: all correct and all wrong groups give 0; eta = 0 leaves the clip range alone.
    Source: arXiv 2512.19126 by way of an implementation that quotes its equations. Confidence: secondary
    (reconstructed).
    """

    eta: float = 0.2
    clip: float = 0.2
    reason: tuple[str, ...] = ("steps", "quality", "format")
    eps: float = 1e-6

    @hookimpl
    def start(self) -> None:
        """Nothing is mixed in yet."""
        self.mixed = 0.0  # the mean of rho over the step's groups

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Mix, standardise, weigh by difficulty."""
        groups, outcome = batch.groups, verdict(batch)
        reason = column(batch, self.reason, "awpo")
        reason = torch.where(reason.isnan(), outcome, reason)
        spread = groups.std((outcome + reason) / 2, correction=0)
        rho = spread / (groups.std(outcome, correction=0) + spread + self.eps)
        self.mixed = float(rho[groups.first].mean()) if len(batch) else 0.0
        mixture = (1 - rho) * outcome + rho * reason
        rate = groups.mean(outcome)
        return 4 * rate * (1 - rate) * groups.standardize(mixture, eps=self.eps, correction=0)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate with this step's range."""
        assert batch.advantages is not None
        span = self.clip / (1 + self.eta * self.mixed)
        return ppo_clip_loss(output.ratio, batch.advantages, span, span)
