"""Token sums over a constant length: Dr. GRPO's aggregation alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.aggregation.rows import check_empty, completions

if TYPE_CHECKING:
    from harness import Batch


@method(name="seq-mean-token-sum-norm", paper="2503.20783", base="grpo(beta=0)", scope="group")
class ConstantLength:
    """The token sum is divided by a constant, never by the realised length, so that wrong answers do not grow.

    L = (1 / (N length)) sum_{i,t} l_{i,t}.

    length: the constant, by default the most tokens that a completion may have (verl divides by the padded width
    of the batch, which varies). empty: "count" divides by all completions (TRL); "skip" by those that have tokens
    (verl). rows: another number in place of N; 1 is what verl did until mid-2026, N times as much.
    Edge cases: completions that are left out of the loss do not count in N.
    Source: arXiv 2503.20783; TRL ("dr_grpo"), verl. Confidence: code.
    """

    length: float | None = None
    empty: str = "count"
    rows: float | None = None

    def __post_init__(self) -> None:
        """Refuse a way to count that does not exist."""
        check_empty(self.empty, "seq-mean-token-sum-norm")

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """One over the number of completions and the constant."""
        length = batch.max_tokens if self.length is None else self.length
        return batch.mask / (completions(batch, self.empty, self.rows) * length)
