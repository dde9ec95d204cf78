"""SA-MRPO: GDPO whose weights fall as a reward saturates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import method
from harness_papers.multi_reward.gdpo import GDPO

if TYPE_CHECKING:
    from harness import Batch


@method(name="sa-mrpo", paper="2608.16072", neutral={"gamma": 0.0}, neutral_to="gdpo")
class SAMRPO(GDPO):
    """Rewards whose batch mean is close to their maximum are discounted: learn what is left, not what is mastered.

    s_k = (mean_b(r_k) - low) / (high - low), cut to [0, 1];  omega_k = w_k (1 - s_k)^gamma;  the rest is GDPO with
    omega for w.

    low, high: the range of the rewards, one for all columns; the bundled tasks' lie in [0, 1]. eps, batch_eps, tokens,
    leave_one_out, missing, single, gate, gate_at: as in gdpo.
    Edge cases: gamma = 0 is GDPO; with one column the weight cancels in the batch's standardisation; all saturated
    gives 0.
    Source: arXiv 2608.16072 by way of an article that restates the equations. Confidence: secondary.
    """

    gamma: float = 0.5
    low: float = 0.0
    high: float = 1.0

    def column_weights(self, batch: Batch) -> Tensor:
        """The task's weights, times what is left to learn."""
        reached = (batch.rewards.nanmean(0).nan_to_num(self.low) - self.low) / (self.high - self.low)
        return batch.reward_weights * (1 - reached.clamp(0, 1)) ** self.gamma
