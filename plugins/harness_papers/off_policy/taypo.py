"""TayPO-2: a second-order expansion in the ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, sequence_sum_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="taypo-2", paper="2003.06259", base="grpo(beta=0)", scope="group")
class TayPO:
    """The gain of a policy is expanded in (ratio - 1): the usual surrogate, plus a term for every pair of tokens.

    L1 = sum_t (r_t - 1) A_t;  L2 = sum_{t < u} (r_t - 1) (r_u - 1) A_u;  L = mean over completions of
    -(L1 + second L2).

    second: the weight of the second order, 1 in the expansion (the paper tunes it); 0 is the unclipped surrogate. All
    pairs are taken, where the paper's practical version draws one.
    Edge cases: at ratio 1 the second order has no gradient, so the first update is REINFORCE's.
    Source: arXiv 2003.06259, from the theorem, not re-read. Confidence: secondary.
    """

    second: float = 1.0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """What each token adds to both orders; earlier tokens are summed in front of it."""
        assert batch.advantages is not None
        excess = masked(output.ratio - 1, batch.mask)
        before = excess.cumsum(-1) - excess
        return -excess * batch.advantages * (1 + self.second * before)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
