"""MaxRL: the gradient of the log of the pass rate, up to an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, choose, with_singles

if TYPE_CHECKING:
    from harness import Batch

FORMS = ("mean", "maclaurin", "conditional")


@method(name="maxrl", paper="2602.02710", base="grpo(beta=0)", scope="group")
class MaxRL:
    """Dividing by the mean instead of the std follows the log of the pass rate: hard prompts weigh 1 / p.

    A_i = (R_i - mean_g(R)) / (mean_g(R) + eps): the mean score of the successes minus that of all, an estimate of
    grad log p = sum_k grad pass@k / k up to order G.

    form: "maclaurin" stops at `order` T: 1/G for each of the successes, for each of f failures
    -(1/G) sum_{k=2..min(T, f)} C(f-1, k-1) / C(G-1, k-1);  "conditional" gives f / (a G) to each of a successes and
    -1/G to failures (also where a = 0). Both are multiplied by G to the scale of "mean" with `times_group`, and a
    success is a reward above 0.5. single: "raw" divides the reward of a group of one by eps (the authors' code).
    Edge cases: all wrong, all right and groups of one give 0 ("mean"); a mean that is not positive gives 0.
    Source: arXiv 2602.02710 and the authors' code; prime-rl (eps 0). Confidence: code.
    """

    form: Literal["mean", "maclaurin", "conditional"] = "mean"
    order: int = 4
    eps: float = 1e-6
    times_group: bool = True
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "maxrl")
        if self.form not in FORMS:
            msg = f"maxrl(form={self.form!r}): choose one of {', '.join(FORMS)}"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The centred reward in units of the mean, or one of its truncations."""
        if self.form != "mean":
            weights = self._maclaurin(batch) if self.form == "maclaurin" else self._conditional(batch)
            return weights * batch.groups.count() if self.times_group else weights
        groups, reward = batch.groups, batch.reward
        mean = groups.mean(reward)
        unit = torch.where(mean > 0, mean + self.eps, torch.ones_like(mean))
        scaled = torch.where(mean > 0, groups.center(reward) / unit, torch.zeros_like(mean))
        return with_singles(scaled, reward / self.eps if self.eps else reward, groups, self.single)

    def _maclaurin(self, batch: Batch) -> Tensor:
        won, failures, size = self._outcomes(batch)
        k = torch.arange(2, max(self.order, 1) + 1, device=batch.device)
        terms = choose(failures[:, None] - 1, k - 1) / choose(size[:, None] - 1, k - 1).clamp_min(1)
        lost = -(terms * (k <= failures[:, None])).sum(1).to(batch.rewards.dtype)
        return torch.where(won, torch.ones_like(lost), lost) / size

    def _conditional(self, batch: Batch) -> Tensor:
        won, failures, size = self._outcomes(batch)
        share = failures / (size - failures).clamp_min(1)
        return torch.where(won, share, -torch.ones_like(share)) / size

    def _outcomes(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """[N] success, failures in the group, size of the group."""
        won, size = batch.reward > 0.5, batch.groups.count().to(batch.rewards.dtype)
        return won, size - batch.groups.sum(won.to(batch.rewards.dtype)), size
