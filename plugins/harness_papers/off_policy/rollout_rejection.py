"""Rejection by an estimate of the divergence between sampler and learner."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import KLKind, kl_estimate, per_row
from harness_papers.off_policy.behaviour import check_choice, sampler_gap
from harness_papers.off_policy.rejection import Rejection, within

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="rollout-rejection", neutral={"low": None, "high": None}, scope="group")
class RolloutRejection(Rejection):
    """Tokens or completions on which sampler and learner diverge by more than a bound leave the loss.

    d is a measure of KL(pi_sampler || pi_old) at every token; x = log pi_sampler - log pi_old, k1 = x, k2 = x^2 / 2,
    k3 = exp(-x) - 1 + x; kept iff low <= d <= high at the `level`: "token", or "sum", "mean", "max" of the completion.

    Several tests are several of these in a stack: all must pass. The bounds are on d; verl writes those of k1 as
    bounds on the ratio pi_sampler / pi_old, whose logarithm it is. high: 0.01 is ours, verl has no default.
    denominator: "kept" takes what is dropped out of the mask (verl), and needs the old log-probabilities before the
    loss; "all" only out of the numerator (AReaL). stale_only: fresh rows are all kept.
    Edge cases: everything dropped gives loss 0; an unknown sampler probability counts as no divergence.
    Source: verl's rollout correction. Confidence: code.
    """

    measure: KLKind = "k3"
    level: str = "mean"
    low: float | None = None
    high: float | None = 0.01
    denominator: str = "kept"
    stale_only: bool = False

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        check_choice("measure", self.measure, ("k1", "k2", "k3"))
        check_choice("level", self.level, ("token", "sum", "mean", "max"))
        check_choice("denominator", self.denominator, ("all", "kept"))

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:  # noqa: ARG002
        """With denominator="all", the losses below, 0 for what is dropped."""
        losses = yield
        return losses if self.denominator == "kept" else losses * self.kept(batch)

    def kept(self, batch: Batch) -> Tensor:
        """What is within the bounds, [N, T] or [N, 1]."""
        gap = sampler_gap(batch, stale_only=self.stale_only)
        estimate = kl_estimate(-gap, torch.zeros_like(gap), self.measure)
        return within(per_row(estimate, batch.mask, self.level), self.low, self.high)
