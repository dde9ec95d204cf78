"""RAFT++: the accepted completions under PPO's clip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch


@method(name="raftpp", paper="2504.11343", base="grpo(beta=0.001)", scope="group")
class RAFTPP:
    """RAFT with importance ratios and a clip: only what was rewarded is reinforced, never away from anything.

    A_i = max(R_i, 0) (rewards -1 and 1 in the paper);  the clipped loss and the k3 penalty of the base;  mean over all
    tokens, those of rejected completions included, so that the step shrinks with the pass rate.

    Edge cases: all wrong gives no gradient but the KL's; all right trains on all, unlike GRPO, as does
    a group of one that is right.
    Source: arXiv 2504.11343 and the authors' code. Confidence: code.
    """

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The positive part of the reward."""
        return batch.reward.clamp_min(0)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
