"""The entropy bonus with a fixed coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.entropy.monitor import mean_entropy, token_entropy
from harness_papers.off_policy.behaviour import check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="entropy-bonus",
    base="grpo(beta=0)",
    needs={"entropy"},
    neutral={"coef": 0.0},
    scope=lambda m: "batch" if m.average == "tokens" else "group",
)
class EntropyBonus:
    """The policy is paid for the entropy of its next-token distributions.

    L <- L - coef * mean over the minibatch's tokens of H.

    coef: verl's long-time default; TRL's is 0. average: "tokens" whatever the loss averages by (TRL); "loss" gives H
    the weights of the loss's aggregation (verl).
    Edge cases: no token gives 0.
    Source: arXiv 1602.01783 and practice; TRL, verl. Confidence: code.
    """

    coef: float = 0.001
    average: str = "tokens"

    def __post_init__(self) -> None:
        """Refuse an average that does not exist."""
        check_choice("entropy-bonus: average", self.average, ("tokens", "loss"))

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the entropy, as a scalar or per token."""
        entropy = token_entropy("entropy-bonus", output)
        return -self.coef * (mean_entropy(entropy, batch.mask) if self.average == "tokens" else entropy)
