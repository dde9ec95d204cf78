"""Sequence mean of token means: every completion weighs the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.aggregation.rows import check_empty, completions

if TYPE_CHECKING:
    from harness import Batch


@method(name="seq-mean-token-mean", paper="2402.03300", scope="group")
class SequenceMean:
    """Average inside each completion, then over completions, as in the original GRPO: a token weighs 1 / length.

    L = (1/N) sum_i (1/T_i) sum_t l_{i,t}. GRPO has it already; by itself it stands on the harness's defaults.

    empty: "skip" divides by the completions that have tokens (verl, OpenRLHF); "count" by all, so that empty ones
    dilute (TRL, NeMo). rows: another number in place of N. eps: added to every T_i, and row_eps to N, as
    some libraries do (1e-8).
    Edge cases: completions that are left out of the loss do not count in either.
    Source: arXiv 2402.03300; verl, OpenRLHF, TRL. Confidence: code.
    """

    empty: str = "skip"
    rows: float | None = None
    eps: float = 0.0
    row_eps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a way to count that does not exist."""
        check_empty(self.empty, "seq-mean-token-mean")

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """One over the length, over the number of completions."""
        lengths = batch.mask.sum(-1, keepdim=True).clamp_min(1) + self.eps
        return batch.mask / lengths / (completions(batch, self.empty, self.rows) + self.row_eps)
