"""Adaptive entropy control: a bonus that is raised while the entropy is below a target."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness import hookimpl, method
from harness_papers.entropy.monitor import mean_entropy, token_entropy
from harness_papers.off_policy.behaviour import check_choice

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="adaptive-entropy", paper="2505.22312", base="grpo(beta=0)", needs={"entropy"}, neutral={"delta": 0.0})
class AdaptiveEntropy:
    """The coefficient of an entropy bonus rises while the policy's entropy is below a target, and is off above it.

    H_k = mean token entropy of the step's batch, before its update;  L <- L - c_k 1[H_k <= target] mean_t H;
    c_{k+1} = c_k + delta if H_k <= target, else c_k - delta, within [least, most]; c_0 = 0.

    when: "now" switches by the entropy of the batch being trained on, as published; "next" by that of the step before,
    with the coefficient it has just moved (TRL).
    State: the coefficient and the last entropy.
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

    @hookimpl(wrapper=True)
    def annotate(self, batch: Batch) -> Generator[None, list[Mapping[str, Tensor]], Any]:
        """Look at the entropy of the step."""
        found = yield
        if self.when == "now" and batch.entropy is not None:
            self.low = self._below(batch)
        return found

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the entropy while it is low."""
        entropy = mean_entropy(token_entropy("adaptive-entropy", output), batch.mask)
        return -(self.coef if self.low else 0.0) * entropy

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """Move the coefficient."""
        used = self.coef if self.low else 0.0
        if batch.entropy is not None and bool((batch.mask > 0).any()):
            self.low = self._below(batch)
            moved = self.coef + (self.delta if self.low else -self.delta)
            self.coef = min(max(moved, self.least), self.most)
        return {"entropy_coef": used}

    def _below(self, batch: Batch) -> bool:
        assert batch.entropy is not None
        return bool((batch.mask > 0).any()) and float(mean_entropy(batch.entropy, batch.mask)) <= self.target
