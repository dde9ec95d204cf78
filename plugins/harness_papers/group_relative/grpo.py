"""GRPO as published: the z-score of the reward within the prompt's group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import (
    KLKind,
    check_single,
    kl_estimate,
    leave_one_out_standardize,
    masked,
    only_scored,
    ppo_clip_loss,
    sequence_mean_weights,
    with_singles,
)

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2402.03300",
    needs=lambda m: {"reference"} if m.beta else set(),
    clips=True,
    search={"clip": (0.1, 0.4), "beta": (1e-3, 0.3, "log")},
    scope=lambda m: "batch" if m.scale == "batch" else "group",
)
class GRPO:
    """A z-score within the group of a prompt replaces the critic.

    A_i = (R_i - mean_g(R)) / (std_g(R) + eps), std over n - 1;
    token loss -min(r A, clip(r, 1 - clip, 1 + clip) A) + beta k3, k3 = exp(logp_ref - logp) - (logp_ref - logp) - 1;
    L = mean over a completion's tokens, then over the completions that have any.

    clip_high: another upper bound (None: the same). dual: with c > 1, a negative advantage loses at most c |A| (verl
    has c = 3 always on; None is the paper). scale: "group"; "batch" divides by the std of all rewards of the batch
    (TRL, ROLL); "others" takes mean and std of the other members (NeMo); "none" only centres. eps: 1e-6 as in verl and
    NeMo (TRL 1e-4). kl: the estimator, k3 in the paper; low_var cuts it off at 10 (verl). single: "raw" lets a group
    of one keep its reward over 1 + eps (verl), "zero" gives it 0 (TRL, NeMo).
    Edge cases: equal rewards and groups of one give exactly 0; a completion without any reward gets 0 and is no part
    of its group's statistics. With one on-policy update the ratio is 1, the clip inert, and the loss 0 while its
    gradient is not.
    Source: arXiv 2402.03300, checked against TRL and verl. Confidence: code.
    """

    clip: float = 0.2
    beta: float = 0.04
    eps: float = 1e-6
    clip_high: float | None = None
    dual: float | None = None
    scale: str = "group"
    kl: KLKind = "k3"
    single: str = "zero"

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        check_single(self.single, "grpo")
        if self.scale not in {"group", "batch", "others", "none"}:
            msg = f"grpo(scale={self.scale!r}): choose 'group', 'batch', 'others' or 'none'"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centre within the group, then scale."""
        reward = only_scored(batch.reward, batch.rewards)
        return with_singles(self._scaled(batch, reward), reward / (1 + self.eps), batch.groups, self.single)

    def _scaled(self, batch: Batch, reward: Tensor) -> Tensor:
        if self.scale == "group":
            return batch.groups.standardize(reward, eps=self.eps)
        if self.scale == "others":
            return leave_one_out_standardize(batch.groups, reward, self.eps)
        centred = batch.groups.center(reward)
        if self.scale == "none":
            return centred
        return centred / (Groups(batch.prompt * 0).std(reward) + self.eps)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over tokens, then over completions."""
        return sequence_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate."""
        assert batch.advantages is not None
        high = self.clip if self.clip_high is None else self.clip_high
        return ppo_clip_loss(output.ratio, batch.advantages, self.clip, high, self.dual)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weight beta times the KL estimate of every token; it gets the weights of the loss."""
        if not self.beta:
            return output.logp.new_zeros(())
        if batch.logp_ref is None:
            msg = "grpo(beta > 0) needs batch.logp_ref, the reference's log-probabilities"
            raise PluginError(msg)
        logp, logp_ref = (masked(x, batch.mask) for x in (output.logp, batch.logp_ref))
        return self.beta * kl_estimate(logp, logp_ref, self.kl)
