"""OAPL: regress the log-ratio to the sampling policy on the advantage over the group's soft maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import log_mean_exp
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="oapl", paper="2602.19362")
class OAPL:
    """Least squares of the log-ratio to the policy that sampled, whatever its age, on the optimal advantage.

    V_q = beta_value ln mean_g exp(R / beta_value);  L = mean over completions of
    ( beta sum_t (logp - logp_sampler) - (R_i - V_q) )^2. No ratio, no clip.

    beta, beta_value: the paper's values were not seen; A*-PO's are 1e-3 and 0.5, theory has one of both. Data is as
    stale as the suite's `sampler.lag` makes it; the buffer is the step's batch.
    Edge cases: equal rewards, and groups of one, draw the log-ratio to 0.
    Source: arXiv 2602.19362 by way of a text that quotes equation and algorithm. Confidence: secondary.
    """

    beta: float = 1e-3
    beta_value: float = 0.5

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The reward over the group's soft maximum."""
        value = self.beta_value * log_mean_exp(batch.groups, batch.reward / self.beta_value, counted(batch))
        return batch.reward - value[batch.groups.index]

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean squared residual."""
        who = counted(batch)
        residual = self.beta * completion_log_ratio(batch, output, "sampler") - batch.advantage
        return (residual.square() * who).sum() / who.sum().clamp_min(1)
