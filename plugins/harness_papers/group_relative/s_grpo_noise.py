"""S-GRPO: groups weigh by how much their pass rate can be trusted under label noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(name="s-grpo-noise", paper="2508.05928", base="dr-grpo", scope="group")
class SGRPONoise:
    """A group's advantage weighs as much as its observed pass rate predicts the true one, if labels flip at random.

    r = share of rewards > 0;  t = clip((r - flip) / (1 - 2 flip), 0, 1);
    w = (1 - 2 flip) t (1 - t) / ( sqrt(r (1 - r) + 1e-8) sqrt(t (1 - t) + 1e-8) );
    A_i = w (R_i - mean_g(R)) / (std_g(R) + eps), std over n - 1;  token sums over a constant length (the base's).

    flip: the assumed probability of a flipped label, below 0.5; 0 leaves the z-score.
    Edge cases: r <= flip or >= 1 - flip weighs 0, so a lone success of 8 is ignored; groups of one give 0. Not the
    early-exit S-GRPO.
    Source: arXiv 2508.05928 and the authors' code (whose std comes on top of the weight's). Confidence: code.
    """

    flip: float = 0.15
    eps: float = 1e-8

    def __post_init__(self) -> None:
        """Refuse a probability that would turn labels round."""
        if not 0 <= self.flip < 0.5:
            msg = f"s-grpo-noise(flip={self.flip}): choose a probability from 0 to below 0.5"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The z-score, weighted."""
        rate = batch.groups.mean((batch.reward > 0).to(batch.rewards.dtype))
        trust = 1 - 2 * self.flip
        true = ((rate - self.flip) / trust).clamp(0, 1)
        spread = true * (1 - true)
        weight = trust * spread / ((rate * (1 - rate) + 1e-8).sqrt() * (spread + 1e-8).sqrt())
        return weight * batch.groups.standardize(batch.reward, eps=self.eps)
