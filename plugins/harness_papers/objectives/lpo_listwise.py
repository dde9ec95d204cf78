"""LPO: project the policy on a target over the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import group_average
from harness_papers.whole_groups import completion_log_ratio, counted, log_shares

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="lpo-listwise", paper="2605.06139", experimental=True)
class LPO:
    """The policy, restricted to the completions of a group, is projected on a softmax of their rewards.

    u_i = sum_t (logp - logp_old);  P = softmax_g(u), W = softmax_g(R / tau);  L = mean over prompts of
    direction "forward": -sum_i W_i ln P_i (gradient P - W, bounded, zero-sum); "reverse": sum_i P_i (ln P_i - ln W_i).

    tau and whether u is divided by the length (normalize) are not known. The abstract gives target and projection.
    Edge cases: equal rewards have no gradient on-policy; a group of one has none at all.
    Source: arXiv 2605.06139, abstract and summaries. Confidence: abstract (reconstructed).
    """

    tau: float = 1.0
    direction: str = "forward"
    normalize: bool = False

    def __post_init__(self) -> None:
        """Refuse a direction that does not exist."""
        if self.direction not in {"forward", "reverse"}:
            msg = f"lpo-listwise(direction={self.direction!r}): choose forward or reverse"
            raise PluginError(msg)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The divergence from the target."""
        groups, who = batch.groups, counted(batch)
        score = completion_log_ratio(batch, output, "old", normalize=self.normalize)
        log_policy, log_target = (log_shares(groups, x, who) for x in (score, batch.reward / self.tau))
        terms = -log_target.exp() * log_policy
        if self.direction == "reverse":
            terms = log_policy.exp() * (log_policy - log_target)
        return group_average(groups, groups.sum(terms, who, expand=False), who)
