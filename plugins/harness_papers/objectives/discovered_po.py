"""Discovered policy optimisation: a drift penalty that meta-learning found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="discovered-po", paper="2210.05639", base="ppo")
class DiscoveredPO:
    """A closed form of the drift penalty that meta-learning found takes the place of PPO's clip.

    token loss -(r A - f), with f = relu((r - 1) A - a tanh((r - 1) A / a)) for A >= 0 and
    f = relu(d A - b tanh(d A / b)) for A < 0, d = ln r. Advantages are whitened over the batch, as PPO's are here.

    Edge cases: r = 1 or A = 0 gives f = 0 and PPO's gradient. Not direct preference optimization; the learnt parent
    (LPO) needs its trained network.
    Source: arXiv 2210.05639; the formula in purejaxrl, a and b from memory of the paper. Confidence: code.
    """

    a: float = 2.0
    b: float = 0.6

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate minus its drift."""
        assert batch.advantages is not None
        up = (output.ratio - 1) * batch.advantages
        down = output.log_ratio * batch.advantages
        drift = torch.where(
            batch.advantages >= 0,
            up - self.a * torch.tanh(up / self.a),
            down - self.b * torch.tanh(down / self.b),
        )
        return drift.relu() - output.ratio * batch.advantages
