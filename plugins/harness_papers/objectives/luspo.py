"""LUSPO: GSPO without its preference for short answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import sequence_sum_weights
from harness_papers.objectives.gspo import GSPO

if TYPE_CHECKING:
    from harness import Batch


@method(name="luspo", paper="2602.05261")
class LUSPO(GSPO):
    """GSPO's loss of a completion is multiplied by its length, so that long answers are not diluted.

    L = (1/N) sum_i T_i l_i, l_i = -min(s_i A_i, clip(s_i, 1 - clip_low, 1 + clip_high) A_i), s_i the length-normalised
    ratio of the completion. Bounds and eps as in GSPO.
    Edge cases: on-policy it has the gradient of REINFORCE summed over tokens; an empty completion has no part.
    Source: arXiv 2602.05261; TRL ("luspo"; with a KL term it averages that over padding). Confidence: code.
    """

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, which is the length times the completion's loss; mean over completions."""
        return sequence_sum_weights(batch.mask)
