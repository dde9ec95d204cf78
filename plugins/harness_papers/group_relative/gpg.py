"""GPG: the plain policy gradient, rescaled for the groups that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, token_mean_weights, with_singles

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2504.02546")
class GPG:
    """Group mean as baseline, no ratio, no clip, no KL; groups without spread are made up for by a factor.

    A_i = alpha (R_i - mean_g(R)) / F, F = 1, with alpha = B / (B - M): B groups, M of them with equal rewards;
    token loss -A_i logp_{i,t};  L = mean over all tokens of the minibatch.

    alpha: "rewards" is verl's, completions over completions with a non-zero reward, another method; "none" is 1.
    scale: F is std_g + eps (n - 1). single: "raw" keeps the reward of a group of one (verl). threshold: more prompts
    are drawn until this share of the groups has spread (0.6 is best in the authors' table; 0 draws none).
    Edge cases: no group with spread gives 0; M = 0 is Dr. GRPO's gradient up to the aggregation.
    Source: arXiv 2504.02546 and the authors' code (which divides the loss instead); verl. Confidence: code.
    """

    alpha: Literal["groups", "rewards", "none"] = "groups"
    scale: bool = False
    eps: float = 1e-4
    single: Single = "zero"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "gpg")
        if self.alpha not in {"groups", "rewards", "none"}:
            msg = f"gpg(alpha={self.alpha!r}): choose 'groups', 'rewards' or 'none'"
            raise PluginError(msg)

    @hookimpl
    def next_round(self, batch: Batch, state: Any) -> Sequence[Any] | None:
        """As many prompts more as there are groups without spread, while too few have any."""
        spread = self._spread(batch)
        flat = len(spread) - int(spread.sum())
        return state.draw(flat) if flat and len(spread) - flat < self.threshold * len(spread) else None

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred and rescaled."""
        groups, reward = batch.groups, batch.reward
        apart = groups.standardize(reward, eps=self.eps) if self.scale else groups.center(reward)
        return self._factor(batch) * with_singles(apart, reward, groups, self.single)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of every token."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    def _spread(self, batch: Batch) -> Tensor:
        """[groups] whether rewards differ."""
        return batch.groups.max(batch.reward, expand=False) > batch.groups.min(batch.reward, expand=False)

    def _factor(self, batch: Batch) -> Tensor | float:
        if self.alpha == "none":
            return 1.0
        counted = self._spread(batch) if self.alpha == "groups" else batch.reward != 0
        return len(counted) / counted.sum().clamp_min(1).to(batch.rewards.dtype)
