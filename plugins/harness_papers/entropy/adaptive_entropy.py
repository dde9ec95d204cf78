"""Adaptive entropy control: a bonus that is raised while the entropy is below a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.entropy.monitor import mean_entropy, token_entropy
from harness_papers.off_policy.behaviour import check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="adaptive-entropy", paper="2505.22312", base="grpo(beta=0)", needs={"entropy"}, neutral={"delta": 0.0},
    active={"target": 100.0},
)  # fmt: skip
class AdaptiveEntropy:
    """The coefficient of an entropy bonus rises while the policy's entropy is below a target, and is off above it.

    H_k = mean token entropy of the step's batch, before its update;  L <- L - c_k 1[H_k <= target] mean_t H;
    c_{k+1} = c_k + delta if H_k <= target, else c_k - delta, within [least, most]; c_0 = least.

    when: "now" switches by the entropy of the batch being trained on, as published; "next" by that of the step before,
    with the coefficient it has just moved (TRL).
    State: the coefficient, and with "next" whether the last entropy was low. What a step uses travels with its rows, as
    the extra `entropy_coef`.
    Edge cases: the first step has no bonus; no token leaves the coefficient alone.
    Source: arXiv 2505.22312 (Skywork-OR1); TRL. Confidence: code.
    """

    target: float = 0.2
    delta: float = 0.005
    least: float = 0.0
    most: float = 1.0
    when: str = "now"

    def __post_init__(self) -> None:
        """Refuse a time that does not exist."""
        check_choice("adaptive-entropy: when", self.when, ("now", "next"))

    @hookimpl
    def start(self) -> None:
        """No bonus yet."""
        self.coef = self.least
        self.low = False

    @hookimpl
    def annotate(self, batch: Batch) -> Mapping[str, Tensor]:
        """[N] the coefficient of the step."""
        low = self._below(batch, self.low) if self.when == "now" else self.low
        return {"entropy_coef": torch.full_like(batch.mask[:, :1].sum(-1), self.coef if low else 0.0)}

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the entropy while it is low."""
        coef = batch.extras.get("entropy_coef")
        entropy = mean_entropy(token_entropy("adaptive-entropy", output), batch.mask)
        return -entropy * (0.0 if coef is None or not len(coef) else coef[0])

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """Move the coefficient."""
        used = batch.extras.get("entropy_coef")
        if batch.entropy is not None and bool((batch.mask > 0).any()):
            self.low = self._below(batch, self.low)
            moved = self.coef + (self.delta if self.low else -self.delta)
            self.coef = min(max(moved, self.least), self.most)
        return {"entropy_coef": 0.0 if used is None or not len(used) else float(used[0])}

    def _below(self, batch: Batch, otherwise: bool) -> bool:
        """Whether the mean entropy is at most the target."""
        if batch.entropy is None or not bool((batch.mask > 0).any()):
            return otherwise
        return float(mean_entropy(batch.entropy, batch.mask)) <= self.target
