"""GSPO: one ratio for a whole completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss, sequence_log_ratio, sequence_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2507.18071",
    base="grpo(beta=0)",
    clips=True,
    search={"clip_low": (1e-4, 1e-2, "log"), "clip_high": (1e-4, 1e-2, "log")},
    scope="group",
)
class GSPO:
    """The length-normalised ratio of the completion is clipped, all its tokens at once.

    s_i = exp( (1/T_i) sum_t (logp - logp_old) );  l_i = -min(s_i A_i, clip(s_i, 1 - clip_low, 1 + clip_high) A_i);
    L = mean over completions. Of token advantages it takes the mean; gspo-token keeps them.

    The bounds are per sequence and tight: GRPO's 0.2 would never clip. The mean over completions is part of the
    method, another aggregation weighs completions by length. eps: added to T_i in the ratio (NeMo: 1e-8).
    Edge cases: a clipped completion has no gradient at all; an empty one has ratio 1 and no weight.
    Source: arXiv 2507.18071; TRL, verl, OpenRLHF, NeMo. Confidence: code.
    """

    clip_low: float = 3e-4
    clip_high: float = 4e-4
    eps: float = 0.0

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, 1] the clipped surrogate of the sequence ratio, the same for every token of a completion."""
        ratio = sequence_log_ratio(output.log_ratio, batch.mask, eps=self.eps).exp()
        return ppo_clip_loss(ratio, batch.advantage[:, None], self.clip_low, self.clip_high)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over tokens, then over completions."""
        return sequence_mean_weights(batch.mask)
