"""REINFORCE++-baseline: the group's mean first, the batch's whitening second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import (
    KLKind,
    Single,
    check_single,
    discounted_returns,
    kl_estimate,
    masked,
    token_mean_weights,
    whiten,
    with_singles,
)
from harness_papers.logps import written_logp

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="reinforce-pp-baseline", paper="2501.03262", base="grpo(beta=0.001, kl='k2')",
    needs=lambda m: {"reference"} if m.beta else set(),
)  # fmt: skip
class ReinforcePPBaseline:
    """The group's mean is subtracted, then advantages are whitened over all tokens of the batch.

    B_i = R_i - mean_g(R);  A_{i,t} = (B_i - mu) / sqrt(var + eps), both over all response tokens of the batch, so that
    long answers count more;  clipped loss, token mean, a k2 penalty in the loss (the base's), as the paper recommends.

    beta: puts the KL into the advantage instead, before whitening: B_i - beta sum_{t' >= t} kl (OpenRLHF, kl="k1");
    returns: False takes each token's own kl, not the sum to come (NeMo, kl="k3"). population, floor: the variance over
    n, and at least eps instead of plus eps (OpenRLHF, NeMo). count_eps: added to the number of tokens in the means of
    the whitening (verl: 1e-8). single: "raw" keeps the reward of a group of one (verl).
    Edge cases: an all-equal group has B = 0 and A = -mu / sigma, which is 0 only if long and short answers balance.
    Source: arXiv 2501.03262 (later versions); verl, OpenRLHF, NeMo. Confidence: code.
    """

    beta: float = 0.0
    kl: KLKind = "k1"
    returns: bool = True
    eps: float = 1e-8
    population: bool = False
    floor: bool = False
    count_eps: float = 0.0
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse a value that does not exist."""
        check_single(self.single, "reinforce-pp-baseline")

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred in the group, penalised, whitened over the batch."""
        centred = with_singles(batch.groups.center(batch.reward), batch.reward, batch.groups, self.single)
        gain = centred[:, None].expand(batch.mask.shape)
        if batch.token_columns:
            gain = discounted_returns(batch.token_rewards, batch.mask) - (batch.reward - centred)[:, None]
        if self.beta:
            gain = gain - self.beta * self._penalty(batch)
        return whiten(
            gain, batch.mask, self.eps, correction=0 if self.population else 1, floor=self.floor,
            count_eps=self.count_eps,
        )  # fmt: skip

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    def _penalty(self, batch: Batch) -> Tensor:
        if batch.logp_ref is None:
            msg = "reinforce-pp-baseline(beta > 0) needs batch.logp_ref, the reference's log-probabilities"
            raise PluginError(msg)
        penalty = masked(kl_estimate(written_logp(batch), batch.logp_ref, self.kl), batch.mask)
        return discounted_returns(penalty, batch.mask) if self.returns else penalty
