"""Sequence mean of token sums: a completion is one action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.aggregation.rows import check_empty, completions

if TYPE_CHECKING:
    from harness import Batch


@method(name="seq-mean-token-sum", paper="2402.14740", base="grpo(beta=0)", scope="group")
class SequenceSum:
    """Sum inside a completion, which is the log-probability of the whole, and average over completions.

    L = (1/N) sum_i sum_t l_{i,t}.

    empty: "skip" divides by the completions that have tokens (verl); "count" by all (mid-2025 verl). rows: another
    number in place of N. row_eps: added to N (ROLL: 1e-8).
    Edge cases: the gradient grows with the length; completions that are left out of the loss do not count.
    Source: plain REINFORCE over sequences (arXiv 2402.14740); verl. Confidence: code.
    """

    empty: str = "skip"
    rows: float | None = None
    row_eps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a way to count that does not exist."""
        check_empty(self.empty, "seq-mean-token-sum")

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """One over the number of completions."""
        return batch.mask / (completions(batch, self.empty, self.rows) + self.row_eps)
