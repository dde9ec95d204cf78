"""Token mean: every token of the minibatch weighs the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(name="token-mean", paper="2503.14476", base="grpo(beta=0)", scope="group")
class TokenMean:
    """Every token of the minibatch weighs the same, so that long completions weigh more.

    L = sum_{i,t} l_{i,t} / number of tokens of the optimizer minibatch.

    tokens: another number to divide by (an average over more tokens than these). eps: added to the number of tokens,
    as in mid-2025 verl and NeMo (1e-8).
    Edge cases: an empty completion adds nothing to either sum; no token at all gives 0.
    Source: arXiv 2503.14476; the default of verl, TRL ("dapo") and OpenRLHF. Confidence: code.
    """

    tokens: float | None = None
    eps: float = 0.0

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """The same weight for every token."""
        number = batch.mask.sum().clamp_min(1) if self.tokens is None else self.tokens
        return batch.mask / (number + self.eps)
