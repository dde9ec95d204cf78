"""Token sum: no normalisation at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(name="token-sum", base="grpo(beta=0)", scope="group")
class TokenSum:
    """Every token weighs `scale`: only the learning rate and the gradient's clip bound the step.

    L = scale sum_{i,t} l_{i,t}. Under Adam a token mean up to a factor that Adam mostly cancels.

    Edge cases: an empty batch gives 0; the gradient grows with the number of tokens.
    Source: verl's "token-sum"; no paper. Confidence: code.
    """

    scale: float = 1.0

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """The mask, times the scale."""
        return batch.mask * self.scale
