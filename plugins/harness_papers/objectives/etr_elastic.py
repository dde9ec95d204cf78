"""ETR: the clip range follows the quality of the signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import ppo_clip_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="etr-elastic", paper="2601.03723", base="grpo(beta=0)", experimental=True, clips=True,
    neutral={"micro": 0.0, "macro": 0.0},
)  # fmt: skip
class ETR:
    """Completions with a large advantage, and prompts of middling difficulty, may move further before they are clipped.

    e_i = clip (1 + micro |A_i| / max |A|) (1 + macro 4 p (1 - p)), with p the share of correct completions of the
    group and the maximum over the minibatch;  clip(r, 1 - e_i, 1 + e_i), held below 1.

    The abstract says that bounds scale with the advantage's magnitude (micro) and that the group's variance gives
    larger budgets (macro); the formula and both weights are ours.
    Edge cases: micro = macro = 0 is GRPO; groups without variance have A = 0 anyway. Not the ETR of entropy trends.
    Source: arXiv 2601.03723. Confidence: abstract (reconstructed).
    """

    clip: float = 0.2
    micro: float = 0.5
    macro: float = 0.5

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate with a range of its own for every completion."""
        assert batch.advantages is not None
        size = batch.advantages.abs()
        most = size.amax() if size.numel() else size.sum()
        share = batch.groups.mean(batch.correct.to(size.dtype))[:, None]
        width = self.clip * (1 + self.micro * size / torch.where(most > 0, most, torch.ones_like(most)))
        width = (width * (1 + 4 * self.macro * share * (1 - share))).clamp_max(1)
        return ppo_clip_loss(output.ratio, batch.advantages, width, width)
