"""MHPO: a squashed log-ratio under a hazard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2603.16929", base="grpo(beta=0)", scope="group")
class MHPO:
    """The log-ratio is squashed by tanh and damped by a cumulative hazard, so that gradients fade without a clip.

    With d = logp - logp_old: psi = limit tanh(d / limit);  hazard = (softplus(sg psi) / scale_up)^shape_up +
    (softplus(-sg psi) / scale_down)^shape_down;  token loss -exp(psi - hazard) A;  mean over tokens, then completions.

    Edge cases: at ratio 1 the factor is 0.265, not 1: a learning rate of about a quarter, which Adam hides and a clip
    of the gradient norm does not. A = 0 gives 0. The KL term is off.
    Source: arXiv 2603.16929 by way of two third-party implementations. Confidence: secondary.
    """

    limit: float = 1.5
    shape_up: float = 1.5
    scale_up: float = 1.0
    shape_down: float = 2.0
    scale_down: float = 0.8

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The damped surrogate."""
        assert batch.advantages is not None
        squashed = self.limit * torch.tanh(output.log_ratio / self.limit)
        still = squashed.detach()
        hazard = (functional.softplus(still) / self.scale_up) ** self.shape_up
        hazard = hazard + (functional.softplus(-still) / self.scale_down) ** self.shape_down
        return -(squashed - hazard).exp() * batch.advantages
