"""RiskPO: bundles of prompts, and a gradient from the lower part of their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch

SMALL = 1e-6
FLAT = 1e-3


@method(name="riskpo", paper="2510.00911", base="grpo(beta=0)")
class RiskPO:
    """One completion of each of several prompts makes a paper; only the lower and middle part of paper scores counts.

    bundle = consecutive prompts; paper j = the j-th completion of each, S_j the sum of its rewards; q_a, q_b the
    tracked quantiles of all S.  u = (max(S - q_a, 0) - max(S - q_b, 0)) / (high - low);  c = -max(q_a - S, 0) / low;
    M = (weight c + u) / (weight + 1), over the std of S in the bundle (n - 1, + 1e-6) if `scale`;
    A_i = M d_i / sum over the paper of d, d = R - mean_g(R) (equal shares where the sum is below 1e-6).

    credit: "uniform" gives M to all, "std" M / std_g (1 below 1e-3), as in the authors' script for MATH. natural: adds
    (q_a - q_b) / (high - low) to u (on in that script too, off in the one for DAPO-Math). high: 0.9 for MATH.
    rate: q <- q + rate (level - mean 1[S < q]) after each step but the first.
    State: the quantiles, at first those of the first batch.
    Edge cases: scores above q_b are all alike; a bundle without spread gives 0 (`scale`); a bundle of one has A = M.
    Source: arXiv 2510.00911 and the authors' code (whose first step takes quantiles per bundle). Confidence: code.
    """

    low: float = 0.2
    high: float = 0.8
    bundle: int = 5
    weight: float = 1.5
    rate: float = 0.1
    credit: Literal["sum-mean", "uniform", "std"] = "sum-mean"
    natural: bool = False
    scale: bool = True

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if not 0 < self.low < self.high <= 1 or self.bundle < 1:
            msg = f"riskpo(low={self.low}, high={self.high}, bundle={self.bundle}): 0 < low < high <= 1, bundle >= 1"
            raise PluginError(msg)

    @hookimpl
    def start(self) -> None:
        """No quantiles yet."""
        self.quantiles: list[float] = []  # at `low` and at `high`, once a batch has been seen

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The papers' measure, credited to their completions."""
        bundles = torch.div(batch.groups.index, self.bundle, rounding_mode="floor")
        papers = Groups(torch.stack([bundles, batch.groups.rank(batch.rollout)], 1))
        score = papers.sum(batch.reward, expand=False)
        known = bool(self.quantiles)
        if not known and len(score):
            self.quantiles = [float(score.quantile(level)) for level in (self.low, self.high)]
        measure = self._measure(score)
        if self.scale:
            spread = Groups(bundles[papers.first]).std(score)
            measure = torch.where(spread > 0, measure / (spread + SMALL), torch.zeros_like(measure))
        if known:
            self._track(score)
        return self._credit(batch, papers, measure[papers.index])

    def _measure(self, score: Tensor) -> Tensor:
        below, above = self.quantiles or (0.0, 0.0)
        middle = (score - below).clamp_min(0) - (score - above).clamp_min(0)
        middle = (middle + (below - above if self.natural else 0.0)) / (self.high - self.low)
        return (middle - self.weight * (below - score).clamp_min(0) / self.low) / (self.weight + 1)

    def _track(self, score: Tensor) -> None:
        levels = (self.low, self.high)
        self.quantiles = [
            q + self.rate * (level - float((score < q).to(score.dtype).mean()))
            for q, level in zip(self.quantiles, levels, strict=False)
        ]

    def _credit(self, batch: Batch, papers: Groups, measure: Tensor) -> Tensor:
        if self.credit == "uniform":
            return measure
        if self.credit == "std":
            std = batch.groups.std(batch.reward)
            return measure / (torch.where(std > FLAT, std, 1.0) + SMALL)
        apart = batch.groups.center(batch.reward)
        total = papers.sum(apart)
        shared = total.abs() <= SMALL
        part = torch.where(shared, 1 / papers.count().to(apart.dtype), apart / torch.where(shared, 1.0, total))
        return measure * part
