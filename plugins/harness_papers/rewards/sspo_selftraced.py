"""SSPO: steps after which the policy's own answer gets no better are discouraged."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness_papers.step_values import answer_values, first_of_step, step_ends, step_numbers

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="sspo-selftraced",
    paper="2508.12604",
    base="grpo(beta=0)",
    scope="group",
    experimental=True,
    neutral={"beta": 0.0},
    active={"delta": 1e-6},
)
class SSPO:
    """The policy is asked for its answer after every step: steps that settle it gain, steps that add nothing lose.

    v_k = probability of the reference answer after steps 1..k and `cue`, d = v_k - v_{k-1};  u_k = 1 if d > delta, -1
    if d < -delta or v_{k-1} >= 1 - delta, else 0;  A_it <- A_i + beta u_k(t) / steps, on top of any advantage.

    A token with a character of `boundary` ends a step. The passes after every step are charged. The preference is
    reconstructed (the abstract only says that steps which stop helping are discouraged); numbers are ours.
    Edge cases: an empty completion has no steps; a task whose answer is no text or number leaves the base.
    Source: arXiv 2508.12604, the abstract. Confidence: abstract (reconstructed).
    """

    beta: float = 0.5
    delta: float = 0.05
    cue: str = "#"
    boundary: str = ";\n"

    @hookimpl
    def annotate(self, batch: Batch, policy: Any, state: Any) -> Mapping[str, Tensor]:
        """Steps, and the answer's log-probability around each."""
        where = None if self.beta else torch.zeros_like(batch.correct)
        step = step_numbers(batch, step_ends(policy, self.boundary))
        return {"step": step, **answer_values(batch, policy, state.pool, step, self.cue, mean=False, where=where)}

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """With each token's share of the preferences."""
        advantages = yield
        if not self.beta:
            return advantages
        if "step" not in batch.extras or "value_after" not in batch.extras:
            msg = "sspo-selftraced needs batch.extras['step'], ['value_before'], ['value_after'], which annotate gives"
            raise PluginError(msg)
        steps = first_of_step(batch, batch.extras["step"]).sum(1, keepdim=True).clamp_min(1)
        return advantages.reshape(len(batch), -1) + self.beta * self.preference(batch).to(advantages.dtype) / steps

    def preference(self, batch: Batch) -> Tensor:
        """[N, T] 1, 0 or -1 for the token's step; 0 where nothing is known."""
        before, after = batch.extras["value_before"].exp(), batch.extras["value_after"].exp()
        gain = after - before
        worse = (gain < -self.delta) | (before >= 1 - self.delta)
        return (gain > self.delta).to(gain.dtype) - (worse & ~(gain > self.delta)).to(gain.dtype)
