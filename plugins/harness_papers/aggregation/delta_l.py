"""Delta L normalization: completions weigh by a power of their length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch

EPS = 1e-30  # where nothing trains


@method(paper="2509.07558", base="grpo(beta=0)")
class DeltaL:
    """The least noisy unbiased combination of completions, if the variance of a gradient grows with its length.

    x_i = T_i^-alpha / sum_j T_j^-alpha;  L = (1/length) sum_i x_i sum_t l_{i,t}, sums over the optimizer minibatch.

    alpha: 1 is the minimum-variance choice (0.75 for math in the paper); 0 is Dr. GRPO's constant. length: the
    constant M, by default the most tokens that a completion may have (the authors' code divides by the padded width).
    Edge cases: lengths below 1 count as 1; equal lengths give Dr. GRPO's weights; completions that are
    left out of the loss are no part of the sum.
    Source: arXiv 2509.07558 and the authors' code. Confidence: code.
    """

    alpha: float = 1.0
    length: float | None = None

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """The weight of a completion on each of its tokens."""
        power = batch.mask.sum(-1, keepdim=True).clamp_min(1) ** -self.alpha * batch.trains[:, None]
        return batch.mask * (power / power.sum().clamp_min(EPS)) / (self.length or batch.max_tokens)
