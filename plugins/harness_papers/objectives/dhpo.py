"""DHPO: token and sequence ratios, mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import log_gap, masked, sequence_log_ratio

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2601.05607", base="grpo(beta=0)", needs=lambda m: {"entropy"} if m.guided else set(), experimental=True,
    clips=True,
    neutral=({"mix": 1.0, "guided": False, "clip_high": 0.2}, {"mix": 0.0, "guided": False}),
    neutral_to=("grpo(beta=0)", "gspo"),
)  # fmt: skip
class DHPO:
    """The token's and the completion's ratio are each clipped in their own region, then averaged.

    s_{i,t} = sg[s_i] pi / sg[pi], s_i the length-normalised ratio of the completion (GSPO's token form);
    m = mix r + (1 - mix) s, m' the same of the clipped ratios;  token loss -min(m A, m' A);  mean over tokens, then
    over completions.

    mix: 1 is GRPO's ratio, 0 is GSPO's. guided: mix_t = H_t / max H over the minibatch instead, so that uncertain
    tokens go by their own ratio (the direction is not verified). clip_low and clip_high bound the token's ratio as
    in DAPO, sequence_low and sequence_high the completion's as in GSPO.
    Edge cases: at ratio 1 the gradient is GRPO's for any mix; where all entropies are 0 the guided mix is 0.
    Source: arXiv 2601.05607, the abstract and a summary. Confidence: abstract (reconstructed).
    """

    mix: float = 0.5
    guided: bool = False
    clip_low: float = 0.2
    clip_high: float = 0.28
    sequence_low: float = 3e-4
    sequence_high: float = 4e-4

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate of the mixed ratio."""
        assert batch.advantages is not None
        mix = self._mix(batch)
        sequence = sequence_log_ratio(output.log_ratio, batch.mask).exp().detach()
        sequence = sequence * log_gap(output.logp, output.logp.detach(), batch.mask).exp()
        token_clip = output.ratio.clamp(1 - self.clip_low, 1 + self.clip_high)
        sequence_clip = sequence.clamp(1 - self.sequence_low, 1 + self.sequence_high)
        free = mix * output.ratio + (1 - mix) * sequence
        held = mix * token_clip + (1 - mix) * sequence_clip
        return torch.maximum(-free * batch.advantages, -held * batch.advantages)

    def _mix(self, batch: Batch) -> Tensor | float:
        """The weight of the token's ratio: a number, or [N, T]."""
        if not self.guided:
            return self.mix
        if batch.entropy is None:
            msg = "dhpo(guided=True) needs batch.entropy"
            raise PluginError(msg)
        entropy = masked(batch.entropy, batch.mask)
        most = entropy.amax() if entropy.numel() else entropy.sum()
        return entropy / torch.where(most > 0, most, torch.ones_like(most))
