"""Dr. GRPO: GRPO without its two divisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import check_single, constant_weights, only_scored, with_singles

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2503.20783", base="grpo(beta=0)", scope="group")
class DrGRPO:
    """No division by the std (it favours very easy and very hard prompts), none by the length (it favours long errors).

    A_i = R_i - mean_g(R);  L = (1/N) (1/length) sum_i sum_t of the clipped token losses, over all N completions.

    length: the constant, by default the most tokens that a completion may have; never the padded width. single: "raw"
    lets a group of one keep its reward (verl), "zero" gives it 0 (TRL, prime-rl).
    Edge cases: equal rewards and groups of one give exactly 0; empty completions count in N, those
    that are left out of the loss do not.
    Source: arXiv 2503.20783 and the authors' code. Confidence: code.
    """

    length: float | None = None
    single: str = "zero"

    def __post_init__(self) -> None:
        """Refuse a choice that does not exist."""
        check_single(self.single, "dr-grpo")

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, not scaled."""
        reward = only_scored(batch.reward, batch.rewards)
        return with_singles(batch.groups.center(reward), reward, batch.groups, self.single)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """The token sum over a constant."""
        return constant_weights(batch.mask, self.length or batch.max_tokens, int(batch.trains.sum()))
