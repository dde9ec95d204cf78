"""LightningRL: accuracy and speed as z-scores, anchored by the likelihood of correct answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method, standardize
from harness.errors import PluginError
from harness.mathematics import kl_estimate, masked

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="lightning-rl", paper="2603.13319", base="grpo(beta=0)", needs={"reference"})
class LightningRL:
    """Accuracy and speed are standardised apart and added; a likelihood term on correct answers holds the accuracy.

    R_i = z_g(c)_i + speed_weight z_g(v)_i, std over n, 0 where it is 0;  A_i = (R_i - mean_b R) / max(std_b R, 1e-8);
    loss += nll_weight (-mean logp over the tokens of correct completions) + beta (token mean of k3 to the reference).

    Speed v is 1 - T / max_tokens (the paper's model decodes several tokens a pass and has tokens per pass). Groups
    without a correct completion, or whose v differ by less than `spread`, leave, and new prompts are drawn in their
    place if `dynamic`, as long as the suite's rounds last; completions within `margin` tokens of
    the limit count as wrong. speed_weight: 1 in the paper. The task's other columns take no part.
    Edge cases: all correct leaves speed; a fast wrong completion can beat the correct one.
    Source: arXiv 2603.13319, the authors' code. Confidence: code.
    """

    speed_weight: float = 1.0
    nll_weight: float = 0.1
    beta: float = 0.01
    spread: float = 0.01
    margin: int = 5
    dynamic: bool = True

    @hookimpl
    def keep(self, batch: Batch) -> Tensor:
        """Groups with a correct completion, and a difference in speed."""
        groups, speed = batch.groups, self._speed(batch)
        differ = groups.max(speed) - groups.min(speed) >= self.spread
        return groups.any(self._right(batch)) & (differ | (groups.count() == 1))

    @hookimpl
    def next_round(self, batch: Batch, state: Any) -> Sequence[Any] | None:
        """As many new prompts as have left."""
        missing = state.prompts_per_step - Groups(batch.prompt[batch.kept]).number
        return state.draw(missing) if self.dynamic and missing > 0 else None

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Two z-scores, standardised over the batch."""
        groups, right = batch.groups, self._right(batch).to(batch.rewards.dtype)
        accuracy, speed = (groups.standardize(x, eps=0.0, correction=0) for x in (right, self._speed(batch)))
        return standardize(accuracy + self.speed_weight * speed, eps=0.0)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The likelihood of what is right, and the distance from the reference."""
        known = batch.mask * self._right(batch)[:, None]
        total = -self.nll_weight * masked(output.logp, known).sum() / known.sum().clamp_min(1)
        if not self.beta:
            return total
        if batch.logp_ref is None:
            msg = "lightning-rl(beta > 0) needs batch.logp_ref, the reference's log-probabilities"
            raise PluginError(msg)
        distance = masked(kl_estimate(output.logp, batch.logp_ref), batch.mask).sum()
        return total + self.beta * distance / batch.mask.sum().clamp_min(1)

    def _right(self, batch: Batch) -> Tensor:
        """[N] bool: correct, and not at the limit."""
        return batch.correct & (batch.lengths < torch.as_tensor(batch.max_tokens - self.margin))

    @staticmethod
    def _speed(batch: Batch) -> Tensor:
        return 1 - batch.lengths.to(batch.rewards.dtype) / max(batch.max_tokens, 1)
