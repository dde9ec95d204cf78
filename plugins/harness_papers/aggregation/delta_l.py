"""Delta L normalization: completions weigh by a power of their length."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import constant_weights

if TYPE_CHECKING:
    from harness import Batch

EPS = 1e-30  # where nothing trains


@method(paper="2509.07558", base="grpo(beta=0)", search={"alpha": (0.25, 1.0)})
class DeltaL:
    """The least noisy unbiased combination of completions, if the variance of a gradient grows with its length.

    x_i = T_i^-alpha / sum_j T_j^-alpha;  L = (1/length) sum_i x_i sum_t l_{i,t}, sums over the optimizer minibatch.

    alpha: 1 is the minimum-variance choice (0.75 for math in the paper); 0 is Dr. GRPO's constant. length: the
    constant M, by default the most tokens that a completion may have (the authors' code divides by the padded width).
    advantages: the authors' code puts N x_i, over all N completions of the step, on the advantages below, and leaves
    the loss a plain sum over N length; the same but for minibatches and a clip.
    Edge cases: lengths below 1 count as 1; equal lengths give Dr. GRPO's weights; completions that are
    left out of the loss are no part of the sum.
    Source: arXiv 2509.07558 and the authors' code. Confidence: code.
    """

    alpha: float = 1.0
    length: float | None = None
    advantages: bool = False

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, in the authors' form times the completion's weight."""
        advantages = yield
        if not self.advantages:
            return advantages
        power = self._power(batch)
        return advantages * (power / power.mean()).to(advantages.dtype)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """The weight of a completion on each of its tokens."""
        length = self.length or batch.max_tokens
        if self.advantages:
            return constant_weights(batch.mask, length, int(batch.trains.sum()))
        power = self._power(batch) * batch.trains[:, None]
        return batch.mask * (power / power.sum().clamp_min(EPS)) / length

    def _power(self, batch: Batch) -> Tensor:
        """[N, 1] the length to the power of minus alpha."""
        return batch.mask.sum(-1, keepdim=True).clamp_min(1) ** -self.alpha
