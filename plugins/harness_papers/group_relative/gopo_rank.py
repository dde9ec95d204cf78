"""GOPO: ranks instead of rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import mean_rank

if TYPE_CHECKING:
    from harness import Batch


@method(name="gopo-rank", paper="2602.03876", base="grpo(beta=0)", scope="group")
class GOPORank:
    """Only the rank of a reward within its group counts, on a fixed grid from 2 down to -2.

    A_i = 2 - 4 (rank_i - 1) / (G - 1), rank 1 for the highest reward.

    ties: "mean" gives equal rewards the mean of their ranks. The authors' code breaks ties by its sort ("order": by
    row here), so that a group of equal rewards gets the whole spread, as noise; it was made for continuous rewards.
    Edge cases: equal rewards and groups of one give 0; any increasing map of the rewards changes nothing.
    Source: arXiv 2602.03876 and the authors' code. Confidence: code.
    """

    ties: Literal["mean", "order"] = "mean"

    def __post_init__(self) -> None:
        """Refuse a value that does not exist."""
        if self.ties not in {"mean", "order"}:
            msg = f"gopo-rank(ties={self.ties!r}): choose 'mean' or 'order'"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The rank on the grid."""
        groups, reward = batch.groups, batch.reward
        place = mean_rank(groups, reward) if self.ties == "mean" else groups.rank(reward).to(reward.dtype)
        last = (groups.count() - 1).to(reward.dtype)
        return torch.where(last > 0, 4 * place / last.clamp_min(1) - 2, torch.zeros_like(place))
