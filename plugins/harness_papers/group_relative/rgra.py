"""RGRA: GRPO without ratio and clip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(base="grpo", paper="2603.18756", experimental=True, scope="group")
class RGRA:
    """REINFORCE with the group-relative advantage: GRPO's advantage and KL, the plain score-function loss.

    A_i = z-score of the group;  token loss -A_i logp_{i,t} + beta k3;  mean over tokens, then over completions (the
    base's, assumed). The paper's claim: clipping is not needed, negative advantages are.

    Edge cases: as GRPO; at ratio 1 the gradient is GRPO's, the value is not; further inner steps are uncorrected.
    Source: abstract and reviews of the paper. Confidence: abstract (aggregation reconstructed).
    """

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of every token."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp
